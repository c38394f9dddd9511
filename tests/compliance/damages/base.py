"""A published submission that both judges accept, and the ways in which rows of tables break it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from podium.rules.fixed.edits import Edit
from tests.compliance.edits import apply
from tests.locations import CORPUS
from tests.published import own_copy

PUBLISHED = CORPUS / "training_results_v5.0" / "AMD"
"""Of this submission one result is taken: ten small logs."""

USAGE, ROUND = "training", "5.0"

SYSTEM = "MI300X_EPYC_9575F_pytorch"
BENCHMARK = "llama2_70b_lora"
RESULT = f"results/{SYSTEM}/{BENCHMARK}"
DESCRIPTION = f"systems/{SYSTEM}.json"
SCALING = f"{RESULT}/scaling.json"
CODE = f"benchmarks/{BENCHMARK}"
OURS = f"{CODE}/implementations/{SYSTEM}"

Change = Edit | Callable[[Path], None]
"""What is done to the tree: an edit as rules' examples have them, or a function of its root."""


class Damage(NamedTuple):
    """One fault, the rule that must tell of it, and where: a path, and its line if it has one.

    `rejects` are those who must: P the policy, O the official package checker, o the official
    program that looks at names and links; ! that the package checker ends in a traceback on what is
    no submission to podium. `arguments` are given to `podium check` beside the path.
    """

    name: str
    changes: tuple[Change, ...]
    rule: str
    at: str
    rejects: str
    arguments: tuple[str, ...] = ()


def log(number: int) -> str:
    """The path of a log."""
    return f"{RESULT}/result_{number}.txt"


ODD = log(4)
"""The log that is broken where one is."""

LOGS = tuple(map(log, range(10)))


def made(root: Path) -> Path:
    """The submission without a fault: the published logs, and code as small as it may be."""
    own_copy(PUBLISHED / RESULT, root / RESULT)
    (root / "systems").mkdir()
    shutil.copyfile(PUBLISHED / DESCRIPTION, root / DESCRIPTION)
    logged_by = root / OURS / "src" / "callbacks" / "custom_callbacks.py"
    logged_by.parent.mkdir(parents=True)
    logged_by.write_text('log("seed")\n' * 300)
    readme = "Get the data with init_datasets.sh, the model's weights from the reference; then\n"
    (root / CODE / "README.md").write_text(
        readme + "bash run_and_time.sh in the container of release 25.04\n"
    )
    for script in ("setup.sh", "init_datasets.sh", "run_and_time.sh"):
        (root / OURS / script).write_text("true\n")
    (root / OURS / f"{SYSTEM}_nemo.json").write_text("{}\n")
    return root


def linked(base: Path, root: Path) -> Path:
    """The same tree again; its files are those of `base` until `changed` parts them."""
    shutil.copytree(base, root, copy_function=os.link)
    return root


def changed(root: Path, changes: tuple[Change, ...]) -> None:
    """Break a tree of `linked`, and nothing of the one that it was made from."""
    for change in changes:
        for path in _written(change):
            _part(root / path)
        if isinstance(change, Edit):
            apply(root, [change])
        else:
            change(root)


def _written(change: Change) -> Iterator[str]:
    if isinstance(change, Edit | _Bytes):
        yield change.path


def _part(path: Path) -> None:
    if path.is_file() and not path.is_symlink():
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)


class _Bytes(NamedTuple):
    path: str
    change: Callable[[bytes], bytes]

    def __call__(self, root: Path) -> None:
        path = root / self.path
        before = path.read_bytes()
        after = self.change(before)
        assert after != before, f"{self.path} is not changed"
        path.write_bytes(after)


def in_bytes(path: str, change: Callable[[bytes], bytes]) -> Change:
    """With other bytes in a file."""
    return _Bytes(path, change)


def lines(path: str, change: Callable[[list[bytes]], list[bytes]]) -> Change:
    """With other lines in a file; each keeps its end."""
    return _Bytes(path, lambda data: b"".join(change(data.splitlines(keepends=True))))


def sub(path: str, pattern: str, text: str, count: int = 0) -> Change:
    """With a text in the place of what matches a pattern."""
    return _Bytes(path, lambda data: re.sub(pattern.encode(), text.encode(), data, count=count))


def value(path: str, key: str, instead: str) -> Change:
    """With another value of a key, as JSON, and all else as it was written."""
    return sub(path, rf'("key": "{key}", "value": )[^,]+', rf"\g<1>{instead}")
