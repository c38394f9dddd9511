"""`podium fix`: find mechanical errors in submissions and, on request, fix them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.discover import Package, PathKind, kinds_of, submissions
from podium.compliance.judging.inputs.layout import POWER, Tree
from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.inputs.listing import ItemKind as OnDisk
from podium.compliance.judging.inputs.round_selection import RoundRequest, forget
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.judging.inputs.tree_scan import scan
from podium.compliance.judging.systems.reader import LARGEST
from podium.compliance.tools.fixing.change import (
    Action,
    FileChange,
    FixOutcome,
    ManualFix,
    Plan,
    apply,
    lies_in,
)
from podium.compliance.tools.fixing.descriptions import fixed_description, fixed_text
from podium.compliance.tools.fixing.numbering import renames
from podium.compliance.tools.fixing.temporary import temporary_files
from podium.rules.model.round import Round

MOST_PASSES = 4
"""The most passes: the content of an unreadable folder is known only after the first fix."""


def fix_path(path: Path, request: RoundRequest, *, write: bool) -> list[FixOutcome]:
    """The changes to each submission of a path; `write` makes them.

    A file that cannot be read or written is skipped. Raises ComplianceError if the path has no
    submission and is not a system description, or if nothing can be written.
    """
    forget()
    contents = kinds_of([path], request)
    kind = contents[path].kind
    if kind is PathKind.SYSTEM:
        rules = request.choose(path.absolute().parent).rules
        return _unless_refused(path, [_fix(_Alone(path, rules), write=write)])
    packages = submissions(contents)
    if not packages:
        raise NothingToJudge(
            f"{path} contains no submission; expected the folders results and systems"
        )
    outcomes = [
        _fix(_Whole(package, request.choose(package.root).rules), write=write)
        for package in packages
    ]
    return _unless_refused(path, outcomes)


def _unless_refused(path: Path, outcomes: list[FixOutcome]) -> list[FixOutcome]:
    """The outcomes; raises UsageFault if the system has prevented all changes."""
    refused = next((outcome.refused for outcome in outcomes if outcome.refused), "")
    if refused and all(outcome.refused or not outcome.changes for outcome in outcomes):
        raise UsageFault(f"{path} cannot be changed: {refused}; nothing was written")
    return outcomes


class _Alone:
    """A system description without a submission."""

    def __init__(self, path: Path, rules: Round) -> None:
        self.root, self.name, self.rules = path.parent, path.name, rules

    def plans(self) -> Iterator[Plan]:
        yield from _edits(self.root, self.name, self.rules, is_description=True)


class _Whole:
    """A submission, or the results in one of its folders."""

    def __init__(self, package: Package, rules: Round) -> None:
        self.package, self.root, self.rules = package, package.root, rules
        self.name = package.display_path or package.root.absolute().name

    def plans(self) -> Iterator[Plan]:
        """All changes; renames last, so that all other changes can use the original paths."""
        tree = scan(self.package, self.rules, Disk(self.root))
        yield from temporary_files(tree.disk, tree.scope)
        descriptions = {*tree.systems.values()} if not tree.scope else set()
        for path in (*sorted(descriptions), *_json_files(tree)):
            yield from _edits(self.root, path, self.rules, is_description=path in descriptions)
        yield from renames(tree, self.rules)


def _fix(submission: _Alone | _Whole, *, write: bool) -> FixOutcome:
    """The plan for one submission, or with `write` its outcome."""
    fixed = FixOutcome(str(submission.root), submission.name, submission.rules.title)
    plans = [*submission.plans()]
    fixed.left = [plan for plan in plans if isinstance(plan, ManualFix)]
    fixed.changes = [plan for plan in plans if isinstance(plan, FileChange)]
    if not write or not fixed.changes:
        return fixed
    applied: list[FileChange] = []
    for _ in range(MOST_PASSES):
        changes = [plan for plan in plans if isinstance(plan, FileChange)]
        finished, failed = apply(submission.root, changes)
        applied += finished
        plans = [*submission.plans()] if finished else []
        if not finished or not any(isinstance(plan, FileChange) for plan in plans):
            break
    fixed.refused = failed[0].reason if failed and not applied else ""
    fixed.changes = applied
    fixed.left = [*(plan for plan in plans if isinstance(plan, ManualFix)), *failed]
    return fixed


def _json_files(tree: Tree) -> Iterator[str]:
    """The JSON files among the results, except power measurements."""
    for path, folder in tree.disk.walk(tree.scope or "results"):
        if POWER not in path.split("/"):
            for item in folder.items:
                if item.kind is OnDisk.FILE and item.name.endswith(".json"):
                    yield item.path


def _edits(root: Path, path: str, rules: Round, *, is_description: bool) -> Iterator[Plan]:
    """The edit of one JSON file, if it needs one."""
    # The target of a link is fixed at its own path if that is in the tree
    if os.path.islink(root / path) or not lies_in(root, path):
        return
    try:
        with open_plain(root / path) as stream:
            before = stream.read(LARGEST + 1)
    except OSError as error:
        yield ManualFix(path, f"it cannot be read: {error.strerror}")
        return
    if len(before) > LARGEST:
        return
    after, reasons = fixed_description(before, rules) if is_description else fixed_text(before)
    if after != before:
        yield FileChange(Action.EDIT, path, tuple(reasons), before=before, after=after)
