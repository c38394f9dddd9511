"""A published submission that podium and the verifier accept, and the edits that break it."""

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
"""One result of this submission is used: ten small logs."""

USAGE, ROUND = "training", "5.0"

SYSTEM = "MI300X_EPYC_9575F_pytorch"
BENCHMARK = "llama2_70b_lora"
RESULT = f"results/{SYSTEM}/{BENCHMARK}"
DESCRIPTION = f"systems/{SYSTEM}.json"
SCALING = f"{RESULT}/scaling.json"
CODE = f"benchmarks/{BENCHMARK}"
OURS = f"{CODE}/implementations/{SYSTEM}"

Change = Edit | Callable[[Path], None]
"""A change of the tree: an edit as in the examples of rules, or a function of the root."""


class Damage(NamedTuple):
    """One damage, the rule that must report it, and the location: a path, with or without a line.

    `rejects` lists who must reject it: P the policy, O the official package checker, o the official
    checker of names and links. ! means that the package checker crashes on a tree that is not a
    submission for podium. `arguments` are additional arguments of `podium check`.
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
"""The log that is broken if only one log is broken."""

LOGS = tuple(map(log, range(10)))


def made(root: Path) -> Path:
    """Create the submission without a damage: the published logs, and minimal code."""
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
    """Create a tree of hard links to `base`; `changed` copies a file before it edits the file."""
    shutil.copytree(base, root, copy_function=os.link)
    return root


def changed(root: Path, changes: tuple[Change, ...]) -> None:
    """Break a tree of `linked` without a change to its base."""
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
    """Change the bytes of a file."""
    return _Bytes(path, change)


def lines(path: str, change: Callable[[list[bytes]], list[bytes]]) -> Change:
    """Change the lines of a file; each line keeps its end."""
    return _Bytes(path, lambda data: b"".join(change(data.splitlines(keepends=True))))


def sub(path: str, pattern: str, text: str, count: int = 0) -> Change:
    """Replace the matches of a pattern by a text."""
    return _Bytes(path, lambda data: re.sub(pattern.encode(), text.encode(), data, count=count))


def value(path: str, key: str, instead: str) -> Change:
    """Replace the value of a key by a JSON text, without a change to other text."""
    return sub(path, rf'("key": "{key}", "value": )[^,]+', rf"\g<1>{instead}")
