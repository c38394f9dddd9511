"""The code of a whole round, read once: files, heads of logs, and the reading order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from podium.compliance.judging.discovery import Inputs, discover
from podium.compliance.judging.options import Options
from podium.compliance.tools.review.code.inventory import CodeTree, code_tree
from podium.compliance.tools.review.code.log_heads import LogHead, log_heads
from podium.compliance.tools.review.code.reading_order import CodeFolder, ordered


class RoundCode(msgspec.Struct, frozen=True):
    """The code of a round; `folders` are in reading order."""

    trees: Sequence[CodeTree] = ()
    folders: Sequence[CodeFolder] = ()
    logs: Mapping[Path, Sequence[LogHead]] = {}


def read_code(path: Path, options: Options) -> RoundCode:
    """The code below a path; raises NothingToJudge if it has no submission."""
    return code_of(discover([path], options))


def code_of(inputs: Inputs) -> RoundCode:
    """The code of the submissions in the inputs."""
    names = {choice.rules.name for choice in inputs.choices}
    title = names.pop() if len(names) == 1 else ""
    trees = [
        code_tree(package.root.resolve().name, package.root, package.display_path or ".", title)
        for package in inputs.packages
        if not package.scope
    ]
    logs = {tree.root: log_heads(tree.root) for tree in trees}
    return RoundCode(trees, ordered(trees, [logs[tree.root] for tree in trees]), logs)
