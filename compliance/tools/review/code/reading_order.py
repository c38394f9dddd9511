"""The order in which the code of a round is read: the submitter that had it first comes first.

The vendor of the accelerators comes first, then the earliest logs. Names do not matter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from podium.compliance.judging.inputs.source_files import small_json
from podium.compliance.reporting.pages.templates import clock
from podium.compliance.tools.review.code.inventory import CodeFile, CodeTree, benchmark_of
from podium.compliance.tools.review.code.log_heads import LogHead

MOST_SYSTEMS = 200

FIRST_MS, LAST_MS = 1_500_000_000_000, 4_100_000_000_000
"""Times of the first and last plausible logs: 2017, before the first round, and 2099."""

_FAMILIES = (
    ("NVIDIA", r"nvidia|\b(?:gb|gh|dgx)[23]00|\b[abhlv]\d{2,3}\b"),
    ("AMD", r"\bamd\b|\bmi\d{3}"),
    ("Intel", r"\bintel\b|gaudi|habana"),
    ("Google", r"\bgoogle\b|\btpu"),
    ("Graphcore", r"graphcore|\bipu"),
    ("Huawei", r"huawei|ascend"),
)
"""Vendors of accelerators by the names of their products."""


class CodeFolder(msgspec.Struct, frozen=True):
    """The code of one submission for one benchmark, with its place in the order."""

    tree: CodeTree
    benchmark: str
    files: list[CodeFile]
    reason: str
    order: tuple[int, float, str]


def ordered(trees: Sequence[CodeTree], heads: Sequence[Sequence[LogHead]]) -> list[CodeFolder]:
    """The folders of code of a round's submissions, in reading order."""
    vendors = _vendors(trees)
    folders = []
    for tree, logs in zip(trees, heads, strict=True):
        vendor = any(_is_of(tree.submitter, name) for name in vendors)
        by_benchmark: dict[str, list[CodeFile]] = {}
        for file in tree.files:
            by_benchmark.setdefault(benchmark_of(file.path)[0], []).append(file)
        for benchmark, files in by_benchmark.items():
            first = _first_log(logs, benchmark)
            reason = _reason(first, vendor=vendor)
            # If it is unknown who was first, the order must not depend on names
            neutral = _digest(files)
            started = float("inf") if first is None else first
            order = (0 if vendor else 1, started, neutral)
            folders.append(CodeFolder(tree, benchmark, files, reason, order))
    return sorted(folders, key=lambda folder: folder.order)


def _is_of(submitter: str, vendor: str) -> bool:
    """Whether a submitter is a vendor or a part of it, such as Intel-HabanaLabs of Intel."""
    name = submitter.casefold()
    return name.startswith(vendor) and not name[len(vendor) :][:1].isalnum()


def _reason(first: float | None, *, vendor: bool) -> str:
    if vendor:
        return "vendor of the accelerators"
    if first is None:
        return "no dated logs: the first submitter is unknown"
    return f"first log of {clock(first)[:10]}"


def _first_log(logs: Iterable[LogHead], benchmark: str) -> float | None:
    # A clock that was never set, or that is set back to be the first, is not evidence
    started_logs = [log for log in logs if FIRST_MS < (log.started or 0.0) < LAST_MS]
    own_logs = [log for log in started_logs if log.benchmark == benchmark]
    return min((log.started or 0.0 for log in own_logs or started_logs), default=None)


def _digest(files: Iterable[CodeFile]) -> str:
    text = "".join(sorted(file.hash for file in files))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _vendors(trees: Sequence[CodeTree]) -> set[str]:
    names = {name for tree in trees for name in _accelerators(tree.root)}
    text = "\n".join(names)
    families = (name for name, pattern in _FAMILIES if re.search(pattern, text, re.IGNORECASE))
    return {name.casefold() for name in families}


def _accelerators(root: Path) -> list[str]:
    names = []
    for path in sorted((root / "systems").glob("*.json"))[:MOST_SYSTEMS]:
        try:
            description = small_json(path)
        except (OSError, ValueError):
            continue
        if isinstance(description, dict):
            names.append(str(description.get("accelerator_model_name", ""))[:200])
    return names
