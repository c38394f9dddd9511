"""The layout of a submission in each round, as data. Checks and packing share it.

Links to folders are reported, and followed if `Disk.follows` allows it. Folders that cannot be read
are reported, too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.listing import Disk
from podium.rules.finding import Finding

Scaling = Literal["strong", "weak"]

# Stricter than the official checker, for which any result_*.txt is a run: see `is_log`
RESULT_NAME = re.compile(r"result_(\d+)\.txt")
"""The name of a run's log: `result_<i>.txt`, i from 0."""

_DIGITS = re.compile(r"([0-9]+)")

SCALINGS: tuple[Scaling, ...] = ("strong", "weak")
PRUNED, POWER = "pruned_results", "power"
PARAMS, SCALING_FILE, PRIVATE_ID = "package_checker_params", "scaling.json", "privateid.json"
ENTRY = "entry.json"
"""The description of a system in 0.5, and in some submissions of 0.6, next to its results."""

# The official checker treats scaling.json, which it writes itself, as a log with a wrong name
KNOWN_FILES = frozenset({PARAMS, SCALING_FILE})
"""Files that belong next to the logs of a result."""


class ResultFolder(msgspec.Struct, frozen=True):
    """All runs of one benchmark on one system; paths are relative to the submission.

    `unknown` are names that do not belong in the folder. `misnamed` are files with the records of a
    run, but another name. `official` is False if the official verifier skips the folder because of
    its name.
    """

    system: str
    benchmark: str
    scaling: Scaling
    path: str
    logs: tuple[str, ...]
    pruned: tuple[str, ...] = ()
    power: bool = False
    unknown: tuple[str, ...] = ()
    misnamed: tuple[str, ...] = ()
    official: bool = True


class Tree(Package, frozen=True, kw_only=True):
    """A submission on disk; if it has a scope, only the results in the scope.

    `disk` lists its folders, each once. `misplaced` are the findings about files in wrong places;
    their severity is the same in both profiles. `holding` are the systems whose folders contain
    folders of benchmarks, with any name. `entries` are the systems that are described next to their
    results, as in 0.5. `unjudged` are the folders with logs that belong to no benchmark of the
    round. `strays` are the systems that lack runs and have logs outside the folders of results; ""
    stands for logs outside any system.
    """

    submitter: str
    disk: Disk
    systems: dict[str, str] = msgspec.field(default_factory=dict)
    results: list[ResultFolder] = msgspec.field(default_factory=list)
    misplaced: list[Finding] = msgspec.field(default_factory=list)
    result_systems: list[str] = msgspec.field(default_factory=list)
    holding: set[str] = msgspec.field(default_factory=set)
    entries: set[str] = msgspec.field(default_factory=set)
    unjudged: list[str] = msgspec.field(default_factory=list)
    strays: set[str] = msgspec.field(default_factory=set)


def submitter_of(root: Path) -> str:
    """The submitter, from the folder's name; in 0.5 the submitter's folder is below `v0.5.x`."""
    parts = root.absolute().parts
    for version, submitter in itertools.pairwise(parts):
        if version.startswith("v0.5.") and version[5:].isdigit():
            return submitter
    return parts[-1]


def is_log(name: str) -> bool:
    """Whether a name is that of a run's log for the official checker."""
    return name.startswith("result_") and name.endswith(".txt")


def natural(names: Iterable[str]) -> list[str]:
    """Names in natural order: result_2 before result_10."""
    return sorted(names, key=_as_counted)


@lru_cache(maxsize=4096)
def _as_counted(name: str) -> list[tuple[int, str]]:
    # Pairs, so that a number is never compared with a string
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in _DIGITS.split(name)]
