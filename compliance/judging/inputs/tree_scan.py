"""The reading of a submission's layout: its systems, its results, and what is in a wrong place."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.benchmark_names import (
    advice_on,
    benchmark_called,
    wrong_level,
)
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.layout import (
    ENTRY,
    KNOWN_FILES,
    PARAMS,
    POWER,
    PRIVATE_ID,
    PRUNED,
    SCALINGS,
    ResultFolder,
    Scaling,
    Tree,
    is_log,
    natural,
    submitter_of,
)
from podium.compliance.judging.inputs.listing import Disk, ItemKind, holds
from podium.compliance.judging.inputs.log_names import holds_records
from podium.compliance.judging.inputs.submission_folders import TOP_FOLDERS
from podium.compliance.judging.inputs.tree_rules import (
    LINKED_FOLDER,
    MISPLACED,
    UNKNOWN_BENCHMARK,
    UNKNOWN_FILE,
    UNKNOWN_FOLDER,
    UNREADABLE,
)
from podium.compliance.text.words import plural
from podium.rules.finding import Profile, Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round

_PLACE = "results/<system>/<benchmark>/"
_CODE = ("benchmarks", "code", "documentation")
"""Folders that may contain logs, such as those of the reference."""


class Listing(msgspec.Struct):
    """The names in one folder, sorted; `links` lead to folders, `folders` has followed links."""

    files: list[str] = msgspec.field(default_factory=list)
    folders: list[str] = msgspec.field(default_factory=list)
    links: list[str] = msgspec.field(default_factory=list)
    problem: str = ""


def scan(package: Package, rules: Round, disk: Disk | None = None) -> Tree:
    """Read the layout of a submission; never raises. `disk` is an existing listing of it."""
    root, scope = package.root, package.scope
    disk = disk or Disk(root)
    tree = Tree(root, package.display_path, scope, submitter=submitter_of(root), disk=disk)
    _Scan(tree, rules).fill()
    if not scope:
        return tree
    results = [result for result in tree.results if holds(scope, result.path)]
    used_systems = {result.system for result in results}
    systems = {name: path for name, path in tree.systems.items() if name in used_systems}
    return replace(tree, results=results, systems=systems)


class _Stray(msgspec.Struct, frozen=True):
    """A log, or a folder of logs, outside the folders of results; `words` are for its finding."""

    system: str
    words: dict[str, Any]


class _Scan(msgspec.Struct):
    tree: Tree
    rules: Round
    strays: dict[str, _Stray] = {}

    def fill(self) -> None:
        """Add the systems, the results and the findings to the tree."""
        top = self._list("")
        for name in top.folders:
            # The rules on repositories check names with a leading dot, such as .git
            if name not in TOP_FOLDERS and not name.startswith("."):
                self._unknown_top(name)
        described = self._list("systems")
        # A folder with the name of a description is included, so that it is reported.
        for name in sorted([*described.files, *described.folders, *described.links]):
            if name.endswith(".json"):
                self.tree.systems[name[:-5]] = f"systems/{name}"
        results = self._list("results")
        systems = [name for name in results.folders if not self._no_system(name)]
        self.tree.result_systems.extend(systems)
        self._files("results", results, "any result", _PLACE, ())
        for system in systems:
            self._system(system)
        lacking = self._lacking()
        if lacking:
            self._outside_results(top)
        self._report_strays(lacking)

    def _unknown_top(self, name: str) -> None:
        folders, meant = ", ".join(sorted(TOP_FOLDERS)), meant_folder(name)
        advice = f"did you mean {meant}? " if meant else ""
        self._report(UNKNOWN_FOLDER, name, name=name, folders=folders, advice=advice)

    def _system(self, system: str) -> None:
        base, tree = f"results/{system}", self.tree
        listing = self._list(base)
        if ENTRY in listing.files:
            tree.entries.add(system)
        package, container = self.rules.package, "any benchmark's folder"
        names = (PARAMS, PRIVATE_ID, *((ENTRY,) if package.described_by_entry else ()))
        scaling = "strong/" if package.scaling_folders else ""
        self._files(base, listing, container, f"{base}/{scaling}<benchmark>/", names)
        if not scaling:
            self._benchmarks(system, "strong", base, listing)
            return
        for name in listing.folders:
            inner = self._list(f"{base}/{name}")
            if name in SCALINGS:
                folder = f"{base}/{name}"
                self._files(folder, inner, container, f"{folder}/<benchmark>/", (PARAMS,))
                self._benchmarks(system, "weak" if name == "weak" else "strong", folder, inner)
                continue
            # The official verifier crashes on the folders in this folder, not on the folder itself.
            crashes = bool(inner.folders or inner.links)
            self._report(
                MISPLACED,
                f"{base}/{name}",
                StatedBy.BOTH if crashes else None,
                severity=None if crashes else Severity.WARNING,
                what=f"the folder {name}",
                where="is outside strong and weak",
                pronoun="it",
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
        is_system = name in self.tree.systems and parent not in self.tree.systems
        move = wrong_level(parent, name, self.rules) if is_system else ""
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
            advice=move or f"name the folder as logs name the benchmark: {advice}",
            remark=remark,
            cause="tree.no-system-description" if is_system else "",
        )

    def _result(self, system: str, scaling: Scaling, path: str, benchmark: str) -> None:
        listing = self._list(path)
        # HPC rules, Throughput: only instances in weak scaling may be pruned
        usual_folders = {POWER, PRUNED} if scaling == "weak" else {POWER}
        unknown_names = [f for f in listing.files if f not in KNOWN_FILES]
        other_folders = [f for f in listing.folders if f not in usual_folders]
        # The rules on throughput are about all pruned instances
        unknown_names += [
            name
            for name in other_folders
            if name == PRUNED or not self._subfolder(system, path, name)
        ]
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
            names = listing.files
            if item.kind is ItemKind.FOLDER:
                names = listing.folders
            elif item.kind is ItemKind.LINK and os.path.isdir(item.full):
                names = listing.links
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

    def _files(
        self, base: str, listing: Listing, container: str, target: str, names: Sequence[str]
    ) -> None:
        """Report the files next to folders: logs, and files with other names than these."""
        system = base.removeprefix("results").strip("/").partition("/")[0]
        for name in listing.files:
            path = f"{base}/{name}"
            if is_log(name) or self._is_run(listing, base, name):
                self._stray(system, path, 1, f"outside {container}", target)
            elif name not in names and not name.lower().startswith("readme"):
                self._report(UNKNOWN_FILE, path, name=name)

    def _subfolder(self, system: str, path: str, name: str) -> bool:
        """Whether a subfolder of a result contains logs, which are then strays."""
        count = self._logs_below(f"{path}/{name}")
        if count:
            self._stray(system, f"{path}/{name}", count, "in a subfolder of the result", path)
        return bool(count)

    def _stray(self, system: str, path: str, count: int, where: str, target: str) -> None:
        what, verb = ("a log", "is") if count == 1 else (plural(count, "log"), "are")
        fields = {"what": what, "where": f"{verb} {where}", "target": target}
        pronoun = "it" if count == 1 else "them"
        self.strays[path] = _Stray(system, {**fields, "pronoun": pronoun})

    def _no_system(self, name: str) -> bool:
        """Whether a folder in `results` is a benchmark's and has logs; they are then strays."""
        if name in self.tree.systems or not benchmark_called(name, self.rules):
            return False
        path = f"results/{name}"
        items = self.tree.disk.folder(path).items
        count = sum(is_log(item.name) for item in items)
        if not count or any(item.kind is ItemKind.FOLDER for item in items):
            return False
        self._stray("", path, count, "outside any system's folder", f"results/<system>/{name}/")
        return True

    def _lacking(self) -> set[str]:
        """The systems with a result that lacks runs; "" for a tree without results."""
        results, needed = self.tree.results, self.rules.benchmark
        lacking = {r.system for r in results if len(r.logs) < needed(r.benchmark).runs}
        return lacking if results else {""}

    def _outside_results(self, top: Listing) -> None:
        """Look for the missing logs in other folders of the submission."""
        counts = {name: int(is_log(name)) for name in top.files}
        # Code may contain logs of the reference
        for name in top.folders:
            if name != "results" and (name not in _CODE or not self.tree.results):
                counts[name] = self._logs_below(name)
        for path, count in counts.items():
            if count:
                self._stray("", path, count, "outside results", _PLACE)

    def _logs_below(self, path: str) -> int:
        contents = [content for _, content in self.tree.disk.walk(path)]
        return sum(is_log(item.name) for content in contents for item in content.items)

    def _report_strays(self, lacking: set[str]) -> None:
        """Report the logs outside the folders of results, as errors where runs are missing."""
        results = self.tree.results
        for path, stray in self.strays.items():
            # A log outside any system may belong to each of them
            misses_runs = not results or stray.system in lacking or (not stray.system and lacking)
            if misses_runs:
                self.tree.strays.add(stray.system)
            severity = None if misses_runs else Severity.WARNING
            self._report(MISPLACED, path, severity=severity, **stray.words)

    def _report(
        self,
        rule: FixedRule,
        path: str,
        stated_by: StatedBy | None = None,
        cause: str = "",
        **fields: Any,
    ) -> None:
        tree = self.tree
        if tree.scope and not holds(tree.scope, path):
            return
        location = tree.place(path)
        finding = rule.found(Profile.POLICY, location, stated_by=stated_by, **fields)
        self.tree.misplaced.append(replace(finding, caused_by=cause))


def meant_folder(name: str) -> str:
    """The folder of a submission that a name probably means; "" if there is none."""
    return next(iter(difflib.get_close_matches(name.lower(), TOP_FOLDERS, 1, 0.75)), "")
