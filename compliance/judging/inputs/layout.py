"""The shape of a submission, as data: what lies where, by round. Shared by checks and packager.

Links to folders are reported, and followed as far as `Disk.follows`; what cannot be read is
reported, too.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from podium.compliance.judging.inputs.benchmark_names import (
    advice_on,
    benchmark_called,
    is_early,
    levels_swapped,
)
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.listing import Disk, Item, ItemKind, holds
from podium.compliance.judging.inputs.log_names import holds_records
from podium.compliance.judging.inputs.tree_rules import (
    LINKED_FOLDER,
    MISPLACED,
    UNKNOWN_BENCHMARK,
    UNKNOWN_FILE,
    UNKNOWN_FOLDER,
    UNREADABLE,
)
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round

Scaling = Literal["strong", "weak"]

# Stricter than the official checker, which takes any result_*.txt for a run: see `is_log`
RESULT_NAME = re.compile(r"result_(\d+)\.txt")
"""The name of a run's log: `result_<i>.txt`, i from 0."""

_DIGITS = re.compile(r"([0-9]+)")

SCALINGS: tuple[Scaling, ...] = ("strong", "weak")
PRUNED, POWER = "pruned_results", "power"
PARAMS, SCALING_FILE, PRIVATE_ID = "package_checker_params", "scaling.json", "privateid.json"
ENTRY = "entry.json"
"""What described a system in 0.5 and, for some, in 0.6: it lies with the system's results."""

# The official checker takes scaling.json, which it writes itself, for a log with a wrong name
KNOWN_FILES = frozenset({PARAMS, SCALING_FILE})
"""Files beside the logs of a result that belong there."""

TOP_FOLDERS = frozenset({"systems", "benchmarks", "results", "code", "documentation"})
"""Folders of a submission: submission rules, Directory structure."""


class ResultFolder(msgspec.Struct, frozen=True):
    """All runs of one benchmark on one system; paths are relative to the submission.

    `unknown` are names that do not belong there, `misnamed` those of files that hold the records of
    a run all the same. `official` is False where the official verifier skips the folder for its
    name.
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


class Tree(msgspec.Struct):
    """One submission as it lies on disk; of a `package` with a scope the results in that alone.

    `disk` lists its folders, each once. `misplaced` are the findings about what is not where a
    submission has it; their severity is the same in both profiles. `holding` are the systems whose
    folders hold folders of benchmarks, whatever their names; `entries` those described beside their
    results, as 0.5 had it; `unjudged` the folders with logs of no benchmark of the round.
    """

    package: Package
    submitter: str
    disk: Disk
    systems: dict[str, str] = msgspec.field(default_factory=dict)
    results: list[ResultFolder] = msgspec.field(default_factory=list)
    misplaced: list[Finding] = msgspec.field(default_factory=list)
    result_systems: tuple[str, ...] = ()
    holding: set[str] = msgspec.field(default_factory=set)
    entries: set[str] = msgspec.field(default_factory=set)
    unjudged: list[str] = msgspec.field(default_factory=list)

    @property
    def root(self) -> Path:
        """The submission's folder."""
        return self.package.root

    @property
    def scope(self) -> str:
        """The folder whose results are judged; empty where the whole submission is."""
        return self.package.scope

    def place(self, path: str) -> str:
        """A path of this submission as a report shows it."""
        return self.package.place(path)


class Listing(msgspec.Struct):
    """The names in one folder, sorted; `links` lead to folders, those followed are among these."""

    files: list[str] = msgspec.field(default_factory=list)
    folders: list[str] = msgspec.field(default_factory=list)
    links: list[str] = msgspec.field(default_factory=list)
    problem: str = ""


def has_scalings(rules: Round) -> bool:
    """Whether results lie in `strong` and `weak` below their system: HPC from 1.0 on."""
    return rules.package.scaling_folders


def scan(package: Package, rules: Round, disk: Disk | None = None) -> Tree:
    """Read the shape of a submission; never raises. `disk` is what was listed of it already."""
    root = package.root
    tree = _Scan(Tree(package, submitter_of(root), disk or Disk(root)), rules).tree
    if package.scope:
        tree.results = [each for each in tree.results if holds(package.scope, each.path)]
        held = {each.system for each in tree.results}
        tree.systems = {name: path for name, path in tree.systems.items() if name in held}
    return tree


def submitter_of(root: Path) -> str:
    """Who submits, by the folder's name; in 0.5 the submitter's lies right below `v0.5.x`."""
    parts = root.absolute().parts
    for version, below in itertools.pairwise(parts):
        if version.startswith("v0.5.") and version[5:].isdigit():
            return below
    return parts[-1]


class _Scan:
    def __init__(self, tree: Tree, rules: Round) -> None:
        self.tree, self.rules = tree, rules
        self._top()
        self._systems()
        results = self._list("results")
        tree.result_systems = tuple(results.folders)
        self._loose("results", results, "any result", "results/<system>/<benchmark>/")
        self._strange("results", results.files, ())
        for system in results.folders:
            self._system(system)

    def _top(self) -> None:
        for name in self._list("").folders:
            # Names with a leading dot, such as a clone's .git, are left to the repository's rules
            if name not in TOP_FOLDERS and not name.startswith("."):
                folders = ", ".join(sorted(TOP_FOLDERS))
                self._report(UNKNOWN_FOLDER, name, name=name, folders=folders)

    def _systems(self) -> None:
        listing = self._list("systems")
        # A folder called like a description is none, and is judged so that it is reported.
        for name in sorted([*listing.files, *listing.folders, *listing.links]):
            if name.endswith(".json"):
                self.tree.systems[name[:-5]] = f"systems/{name}"

    def _system(self, system: str) -> None:
        base, tree = f"results/{system}", self.tree
        listing = self._list(base)
        if ENTRY in listing.files:
            tree.entries.add(system)
        described = (ENTRY,) if is_early(self.rules) else ()
        self._strange(base, listing.files, (PARAMS, PRIVATE_ID, *described))
        if not has_scalings(self.rules):
            self._loose(base, listing, "any benchmark's folder", f"{base}/<benchmark>/")
            self._benchmarks(system, "strong", base, listing)
            return
        self._loose(base, listing, "any benchmark's folder", f"{base}/strong/<benchmark>/")
        for name in listing.folders:
            inner = self._list(f"{base}/{name}")
            if name in SCALINGS:
                where = f"{base}/{name}"
                self._loose(where, inner, "any benchmark's folder", f"{where}/<benchmark>/")
                self._strange(where, inner.files, (PARAMS,))
                self._benchmarks(system, "weak" if name == "weak" else "strong", where, inner)
                continue
            # The official verifier crashes on the folders in it, not on the folder itself.
            stated_by = StatedBy.BOTH if inner.folders or inner.links else None
            self._report(
                MISPLACED,
                f"{base}/{name}",
                stated_by,
                what=f"the folder {name}",
                where="strong and weak",
                target="results/<system>/strong/<benchmark> or results/<system>/weak/<benchmark>",
            )

    def _benchmarks(self, system: str, scaling: Scaling, base: str, listing: Listing) -> None:
        if listing.folders or listing.links:
            self.tree.holding.add(system)
        for name in listing.folders:
            benchmark = benchmark_called(name, self.rules)
            if benchmark:
                self._result(system, scaling, f"{base}/{name}", benchmark)
            else:
                self._unknown(f"{base}/{name}", name)

    def _unknown(self, path: str, name: str) -> None:
        """Report a folder of no benchmark: what runs it holds belong to a result never judged."""
        elsewhere, advice = advice_on(name, self.rules)
        above = path.split("/")[1]
        swapped = levels_swapped(above, name, self.rules) if name in self.tree.systems else ""
        runs = any(
            is_log(item.name) for _, each in self.tree.disk.walk(path) for item in each.items
        )
        if runs and (not self.tree.scope or holds(self.tree.scope, path)):
            self.tree.unjudged.append(path)
        self._report(
            UNKNOWN_BENCHMARK,
            path,
            severity=None if runs else Severity.WARNING,
            name=name,
            round=self.rules.title,
            advice=swapped or f"name the folder as logs name the benchmark: {advice}",
            remark=elsewhere,
        )

    def _result(self, system: str, scaling: Scaling, path: str, benchmark: str) -> None:
        listing = self._list(path)
        # HPC rules, Throughput: only instances of weak scaling may be pruned
        usual = {POWER, PRUNED} if scaling == "weak" else {POWER}
        unknown = [f for f in listing.files if f not in KNOWN_FILES]
        unknown += [f for f in listing.folders if f not in usual]
        # A folder called like a log is none, and is judged so that it is reported.
        logs = natural(name for name in listing.files + listing.folders if is_log(name))
        misnamed = natural(name for name in unknown if self._is_run(listing, path, name))
        pruned: list[str] = []
        if scaling == "weak" and PRUNED in listing.folders:
            inner = self._list(f"{path}/{PRUNED}")
            pruned = natural(name for name in inner.files + inner.folders if is_log(name))
            unknown += [f"{PRUNED}/{n}" for n in inner.files + inner.folders if not is_log(n)]
        self.tree.results.append(
            ResultFolder(
                system,
                benchmark,
                scaling,
                path,
                tuple(f"{path}/{name}" for name in logs),
                tuple(f"{path}/{PRUNED}/{name}" for name in pruned),
                POWER in listing.folders,
                tuple(name for name in unknown if not is_log(name) and name not in misnamed),
                tuple(misnamed),
                # Old names of benchmarks are understood; the official verifier skips them
                path.endswith(f"/{benchmark}"),
            )
        )

    def _is_run(self, listing: Listing, path: str, name: str) -> bool:
        """Whether a file that is not named as a log holds the records of a run."""
        full = self.tree.root / path / name
        # What a link leads to may lie outside of the tree
        file = name in listing.files and not is_log(name) and not full.is_symlink()
        return file and holds_records(full)

    # --- findings ---

    def _list(self, path: str) -> Listing:
        """What is in a folder; reports what cannot be read, and links to folders."""
        folder = self.tree.disk.folder(path)
        listing = Listing(problem=folder.problem if folder.there else "")
        for item in folder.items:
            names = _sort_into(listing, item)
            names.append(item.name)
            # A link that is followed is a folder, too
            if names is listing.links and self.tree.disk.follows(item):
                listing.folders.append(item.name)
        if listing.problem:
            self._report(UNREADABLE, path or ".", reason=listing.problem)
        if path.startswith("results"):
            for name in listing.links:
                self._linked(f"{path}/{name}", name, followed=name in listing.folders)
        return listing

    def _linked(self, path: str, name: str, *, followed: bool) -> None:
        if followed:
            problem = ": it is judged as that folder, which not every copy of a tree has there"
            self._report(LINKED_FOLDER, path, StatedBy.POLICY, name=name, problem=problem)
            return
        problem = " that leads out of the submission, in a circle or to another link; such a link "
        problem += "is not followed, so it is not judged"
        self._report(LINKED_FOLDER, path, name=name, problem=problem)

    def _loose(self, base: str, listing: Listing, outside: str, target: str) -> None:
        for name in filter(is_log, listing.files):
            self._report(MISPLACED, f"{base}/{name}", what="a log", where=outside, target=target)

    def _strange(self, base: str, names: list[str], known: tuple[str, ...]) -> None:
        for name in names:
            readme = name.lower().startswith("readme")
            if name not in known and not is_log(name) and not readme:
                self._report(UNKNOWN_FILE, f"{base}/{name}", name=name)

    def _report(
        self, rule: FixedRule, path: str, stated_by: StatedBy | None = None, **fields: Any
    ) -> None:
        tree = self.tree
        if tree.scope and not holds(tree.scope, path):
            return
        where = tree.place(path)
        self.tree.misplaced.append(rule.found(Profile.POLICY, where, stated_by=stated_by, **fields))


def _sort_into(listing: Listing, item: Item) -> list[str]:
    if item.kind is ItemKind.FOLDER:
        return listing.folders
    return (
        listing.links if item.kind is ItemKind.LINK and os.path.isdir(item.full) else listing.files
    )


def is_log(name: str) -> bool:
    """Whether the official checker takes a name for that of a run's log."""
    return name.startswith("result_") and name.endswith(".txt")


def natural(names: Iterable[str]) -> list[str]:
    """Names in the order people count: result_2 before result_10."""
    return sorted(names, key=_as_counted)


@lru_cache(maxsize=4096)
def _as_counted(name: str) -> list[tuple[int, str]]:
    # Pairs, so that a number is never compared with a text
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in _DIGITS.split(name)]
