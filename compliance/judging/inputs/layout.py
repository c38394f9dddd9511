"""The layout of a submission in each round, as data. Checks and packing share it.

Links to folders are reported, and followed if `Disk.follows` allows it. Folders that cannot be read
are reported, too.
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

TOP_FOLDERS = frozenset({"systems", "benchmarks", "results", "code", "documentation"})
"""Folders of a submission: submission rules, Directory structure."""


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


class Tree(msgspec.Struct):
    """One submission on disk; if its `package` has a scope, only the results in the scope.

    `disk` lists its folders, each once. `misplaced` are the findings about files in wrong places;
    their severity is the same in both profiles. `holding` are the systems whose folders contain
    folders of benchmarks, with any name. `entries` are the systems that are described next to their
    results, as in 0.5. `unjudged` are the folders with logs that belong to no benchmark of the
    round.
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
        """The folder whose results are checked; empty for the whole submission."""
        return self.package.scope

    def place(self, path: str) -> str:
        """A path of this submission as a report shows it."""
        return self.package.place(path)


class Listing(msgspec.Struct):
    """The names in one folder, sorted; `links` lead to folders, `folders` has followed links."""

    files: list[str] = msgspec.field(default_factory=list)
    folders: list[str] = msgspec.field(default_factory=list)
    links: list[str] = msgspec.field(default_factory=list)
    problem: str = ""


def has_scalings(rules: Round) -> bool:
    """Whether results are in `strong` and `weak` below their system: HPC from 1.0 on."""
    return rules.package.scaling_folders


def scan(package: Package, rules: Round, disk: Disk | None = None) -> Tree:
    """Read the layout of a submission; never raises. `disk` is an existing listing of it."""
    root = package.root
    tree = _Scan(Tree(package, submitter_of(root), disk or Disk(root)), rules).tree
    if package.scope:
        tree.results = [result for result in tree.results if holds(package.scope, result.path)]
        used_systems = {result.system for result in tree.results}
        tree.systems = {name: path for name, path in tree.systems.items() if name in used_systems}
    return tree


def submitter_of(root: Path) -> str:
    """The submitter, from the folder's name; in 0.5 the submitter's folder is below `v0.5.x`."""
    parts = root.absolute().parts
    for version, submitter in itertools.pairwise(parts):
        if version.startswith("v0.5.") and version[5:].isdigit():
            return submitter
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
            # The rules on repositories check names with a leading dot, such as .git
            if name not in TOP_FOLDERS and not name.startswith("."):
                folders = ", ".join(sorted(TOP_FOLDERS))
                self._report(UNKNOWN_FOLDER, name, name=name, folders=folders)

    def _systems(self) -> None:
        listing = self._list("systems")
        # A folder with the name of a description is included, so that it is reported.
        for name in sorted([*listing.files, *listing.folders, *listing.links]):
            if name.endswith(".json"):
                self.tree.systems[name[:-5]] = f"systems/{name}"

    def _system(self, system: str) -> None:
        base, tree = f"results/{system}", self.tree
        listing = self._list(base)
        if ENTRY in listing.files:
            tree.entries.add(system)
        extra_names = (ENTRY,) if is_early(self.rules) else ()
        self._strange(base, listing.files, (PARAMS, PRIVATE_ID, *extra_names))
        if not has_scalings(self.rules):
            self._loose(base, listing, "any benchmark's folder", f"{base}/<benchmark>/")
            self._benchmarks(system, "strong", base, listing)
            return
        self._loose(base, listing, "any benchmark's folder", f"{base}/strong/<benchmark>/")
        for name in listing.folders:
            inner = self._list(f"{base}/{name}")
            if name in SCALINGS:
                folder = f"{base}/{name}"
                self._loose(folder, inner, "any benchmark's folder", f"{folder}/<benchmark>/")
                self._strange(folder, inner.files, (PARAMS,))
                self._benchmarks(system, "weak" if name == "weak" else "strong", folder, inner)
                continue
            # The official verifier crashes on the folders in this folder, not on the folder itself.
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
        """Report a folder that is not a benchmark's: its runs belong to a result not checked."""
        remark, advice = advice_on(name, self.rules)
        parent = path.split("/")[1]
        swapped = levels_swapped(parent, name, self.rules) if name in self.tree.systems else ""
        runs = any(
            is_log(item.name) for _, content in self.tree.disk.walk(path) for item in content.items
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
            remark=remark,
        )

    def _result(self, system: str, scaling: Scaling, path: str, benchmark: str) -> None:
        listing = self._list(path)
        # HPC rules, Throughput: only instances in weak scaling may be pruned
        usual_folders = {POWER, PRUNED} if scaling == "weak" else {POWER}
        unknown_names = [f for f in listing.files if f not in KNOWN_FILES]
        unknown_names += [f for f in listing.folders if f not in usual_folders]
        # A folder with the name of a log is included, so that it is reported.
        logs = natural(name for name in listing.files + listing.folders if is_log(name))
        misnamed = natural(name for name in unknown_names if self._is_run(listing, path, name))
        pruned: list[str] = []
        if scaling == "weak" and PRUNED in listing.folders:
            inner = self._list(f"{path}/{PRUNED}")
            pruned = natural(name for name in inner.files + inner.folders if is_log(name))
            unknown_names += [f"{PRUNED}/{n}" for n in inner.files + inner.folders if not is_log(n)]
        self.tree.results.append(
            ResultFolder(
                system,
                benchmark,
                scaling,
                path,
                tuple(f"{path}/{name}" for name in logs),
                tuple(f"{path}/{PRUNED}/{name}" for name in pruned),
                POWER in listing.folders,
                tuple(name for name in unknown_names if not is_log(name) and name not in misnamed),
                tuple(misnamed),
                # Old names of benchmarks are accepted; the official verifier skips them
                path.endswith(f"/{benchmark}"),
            )
        )

    def _is_run(self, listing: Listing, path: str, name: str) -> bool:
        """Whether a file that is not named like a log has the records of a run."""
        full_path = self.tree.root / path / name
        # The target of a link may be outside the tree
        file = name in listing.files and not is_log(name) and not full_path.is_symlink()
        return file and holds_records(full_path)

    # --- findings ---

    def _list(self, path: str) -> Listing:
        """List a folder; report that it cannot be read, and links to folders."""
        folder = self.tree.disk.folder(path)
        listing = Listing(problem=folder.problem if folder.there else "")
        for item in folder.items:
            names = _sort_into(listing, item)
            names.append(item.name)
            # A link that is followed is also a folder
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
            problem = ": it is checked as that folder, but not every copy of a tree keeps the link"
            self._report(LINKED_FOLDER, path, StatedBy.POLICY, name=name, problem=problem)
            return
        problem = " that points outside the submission, is circular or points to another link; it "
        problem += "is not followed, so nothing in it is checked"
        self._report(LINKED_FOLDER, path, name=name, problem=problem)

    def _loose(self, base: str, listing: Listing, container: str, target: str) -> None:
        for name in filter(is_log, listing.files):
            self._report(MISPLACED, f"{base}/{name}", what="a log", where=container, target=target)

    def _strange(self, base: str, names: list[str], known_names: tuple[str, ...]) -> None:
        for name in names:
            readme = name.lower().startswith("readme")
            if name not in known_names and not is_log(name) and not readme:
                self._report(UNKNOWN_FILE, f"{base}/{name}", name=name)

    def _report(
        self, rule: FixedRule, path: str, stated_by: StatedBy | None = None, **fields: Any
    ) -> None:
        tree = self.tree
        if tree.scope and not holds(tree.scope, path):
            return
        location = tree.place(path)
        self.tree.misplaced.append(
            rule.found(Profile.POLICY, location, stated_by=stated_by, **fields)
        )


def _sort_into(listing: Listing, item: Item) -> list[str]:
    if item.kind is ItemKind.FOLDER:
        return listing.folders
    return (
        listing.links if item.kind is ItemKind.LINK and os.path.isdir(item.full) else listing.files
    )


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
