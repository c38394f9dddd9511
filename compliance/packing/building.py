"""The plan of a tree from a configuration: every source looked at, every log judged once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from compliance.errors import UsageFault
from compliance.facts import Facts
from compliance.find import is_submission
from compliance.packing.choice import Candidate, Choice, Chooser, find_copies
from compliance.packing.config import CONFIG_FILE, CodeConfig, PackConfig, ResultConfig
from compliance.packing.plan import Plan
from compliance.packing.sources import (
    LeftOut,
    Source,
    SourceFault,
    excluded,
    expand,
    in_folder,
    log_source,
    shown_path,
    source_of,
)
from compliance.receipt import RECEIPT_FILE, SUMMARY_FILE
from compliance.session import Options, gather
from compliance.tree import (
    POWER,
    PRUNED,
    SCALING_FILE,
    has_scalings,
    is_log,
)
from compliance.tree_names import about_name, benchmark_called
from compliance.verdicts import needed_runs
from compliance.waivers import WAIVERS_FILE
from rules.finding import Severity
from rules.round import Round

OWN_FILES = (CONFIG_FILE, RECEIPT_FILE, SUMMARY_FILE)
"""Files of podium at the root of a tree: no part of what is submitted."""


def make_plan(config: PackConfig, rules: Round, base: Path, jobs: int = 1) -> Plan:
    """What the tree of a configuration is to hold; `base` is the folder that paths are from."""
    plan = Plan(config, rules, base)
    _Builder(plan, jobs).build()
    return plan


def result_place(result: ResultConfig, rules: Round) -> str:
    """Where the logs of a result lie."""
    inner = f"{result.scaling}/" if has_scalings(rules) else ""
    return f"results/{result.system}/{inner}{result.benchmark}"


class _Builder:
    def __init__(self, plan: Plan, jobs: int) -> None:
        self.plan, self.jobs = plan, jobs
        self.config, self.base = plan.config, plan.base
        self.places: dict[str, str] = {}

    def build(self) -> None:
        config, plan = self.config, self.plan
        self._systems()
        self._results()
        for code in config.code:
            self._code(code)
        for place, path in config.documents.items():
            self._document(place, path)
        if config.waivers:
            self._file(WAIVERS_FILE, config.waivers, "waivers")
        for tree in self._trees():
            self._merge(tree)
        self._described()
        plan.check_places()
        if not plan.entries:
            plan.miss(".", "nothing to pack: no source gives any file")

    # --- single files ---

    def _file(self, place: str, path: str, what: str) -> Source | None:
        try:
            source = source_of(self.base / path, self.base)
        except SourceFault as fault:
            self.plan.miss(place, f"{what}: {path}: {fault}")
            return None
        self.plan.add(place, source)
        return source

    def _systems(self) -> None:
        given = self.config.systems
        if isinstance(given, dict):
            for name, path in given.items():
                self._file(f"systems/{name}.json", path, "description")
            return
        for pattern in given:
            found = expand([pattern], self.base)
            if not found:
                self.plan.miss("systems", f"no description is named {pattern}")
            for path in found:
                self._file(f"systems/{Path(path).stem}.json", path, "description")

    def _described(self) -> None:
        """Say which results have no description, and which benchmarks no code."""
        entries = self.plan.entries
        parts = [place.split("/") for place in entries if place.startswith("results/")]
        for system in sorted({part[1] for part in parts if len(part) > 3}):
            if f"systems/{system}.json" not in entries:
                self.plan.miss(f"systems/{system}.json", "no description of this system is given")
        code = {place.split("/")[1] for place in entries if place.startswith("benchmarks/")}
        for benchmark in sorted({each.benchmark for each in self.config.results} - code):
            self.plan.miss(f"benchmarks/{benchmark}", "no code of this benchmark is given")

    def _document(self, place: str, path: str) -> None:
        if place.startswith("results/") and is_log(place.rpartition("/")[2]):
            raise UsageFault(f"documents: {place} is a log; give it under [[results]]")
        full = self.base / path
        if full.is_dir():
            self._folder(place, full, ())
        else:
            self._file(place, path, "document")

    # --- folders ---

    def _code(self, code: CodeConfig) -> None:
        if not code.into and not code.benchmark:
            raise UsageFault(f"code: {code.folder} needs a benchmark, or into")
        full = self.base / code.folder
        if not full.is_dir():
            self.plan.miss(code.place, f"code: {code.folder} is no folder")
            return
        self._folder(code.place, full, code.exclude)

    def _folder(self, place: str, full: Path, exclude: Iterable[str]) -> None:
        shown = shown_path(full, self.base)
        self.plan.folders[place] = shown
        for found in in_folder(full, self.base, tuple(exclude)):
            if found.source is None:
                self.plan.leave_out(f"{shown}/{found.below}", found.why)
            else:
                self.plan.add(f"{place}/{found.below}", found.source)

    # --- other trees ---

    def _trees(self) -> list[Path]:
        config = self.config
        if not config.merge and not config.results and is_submission(self.base):
            return [self.base]
        trees = []
        for path in config.merge:
            full = self.base / path
            inner = full / config.submitter
            if not is_submission(full) and inner.is_dir():
                full = inner
            if not full.is_dir():
                raise UsageFault(f"merge: {path} is no folder")
            trees.append(full)
        return trees

    def _merge(self, tree: Path) -> None:
        shown = shown_path(tree, self.base)
        exclude: tuple[str, ...] = OWN_FILES
        into = (self.base / self.config.into).resolve()
        if tree.resolve() in into.parents:
            exclude = (*OWN_FILES, into.relative_to(tree.resolve()).parts[0])
        self.plan.remark(".", f"with all of {'this folder' if tree == self.base else shown}")
        for found in in_folder(tree, self.base):
            if found.below.split("/")[0] in exclude:
                if found.source is not None and found.below in OWN_FILES:
                    self.plan.leave_out(found.source.shown, "podium's own, no part of a submission")
            elif found.source is None:
                self.plan.leave_out(f"{shown}/{found.below}", found.why)
            else:
                self.plan.add(found.below, found.source)

    # --- results ---

    def _results(self) -> None:
        rules, results = self.plan.rules, self.config.results
        given = [self._candidates(result) for result in results]
        named = [self._names(result) for result in results]
        wanted = [*given, *(logs.values() for logs in named)]
        judged = self._judged({one.path: one for logs in wanted for one in logs})
        globbed = {one.path for logs in given for one in logs}
        copied = find_copies([judged[path] for path in sorted(globbed)], rules)
        chooser = Chooser(rules, self.config.division or "")
        left: dict[str, LeftOut] = {}
        for result, logs, names in zip(results, given, named, strict=True):
            choice = chooser.choose(result, [judged[one.path] for one in logs], copied)
            for one in choice.left_out:
                left.setdefault(one.shown, one)
            self._result(result, choice, {n: judged[one.path] for n, one in names.items()})
        taken = {entry.source.shown for entry in self.plan.entries.values()}
        # A log that one result refuses may be another's: the globs of two may overlap.
        self.plan.left_out += [each for each in left.values() if each.shown not in taken]

    def _candidates(self, result: ResultConfig) -> list[Source]:
        found = []
        for pattern in result.logs:
            if not expand([pattern], self.base):
                self.plan.miss(result_place(result, self.plan.rules), f"no log is named {pattern}")
        for path in self._expanded(result.logs):
            shown = shown_path(path, self.base)
            if excluded(shown, result.exclude):
                self.plan.leave_out(shown, "excluded")
                continue
            try:
                found.append(log_source(path, self.base))
            except SourceFault as fault:
                self.plan.leave_out(shown, str(fault), refused=True)
        return found

    def _expanded(self, patterns: list[str]) -> list[str]:
        """What globs name, but for the tree that an earlier call has made."""
        target = os.path.realpath(self.base / self.config.into / self.config.submitter)
        found = expand(patterns, self.base)
        return [path for path in found if not os.path.realpath(path).startswith(f"{target}/")]

    def _names(self, result: ResultConfig) -> dict[str, Source]:
        """The logs that the submitter names one by one, by their names in the tree."""
        place, found = result_place(result, self.plan.rules), {}
        for name, path in result.names.items():
            try:
                found[name] = log_source(self.base / path, self.base)
            except SourceFault as fault:
                self.plan.miss(f"{place}/{name}", f"{path}: {fault}")
        return found

    def _judged(self, sources: Mapping[str, Source]) -> dict[str, Candidate]:
        """The logs with what they tell, by path; each is read once."""
        if not sources:
            return {}
        rules = self.plan.rules
        options = Options(rules.usage, rules.name, jobs=self.jobs)
        gathered = gather([Path(path) for path in sources], options, for_scores=True)
        judged = {}
        for path, source in sources.items():
            one = gathered.judged[path]
            facts = one.verdict.facts if isinstance(one.verdict.facts, Facts) else None
            broken = {f.id for f in one.verdict.findings if f.severity is Severity.ERROR}
            judged[path] = Candidate(source, facts, tuple(sorted(broken)), one)
        return judged

    def _result(self, result: ResultConfig, choice: Choice, named: Mapping[str, Candidate]) -> None:
        plan, place = self.plan, result_place(result, self.plan.rules)
        benchmark = benchmark_called(result.benchmark, plan.rules)
        if not benchmark:
            plan.remark(place, "; ".join(about_name(result.benchmark, plan.rules)))
        if choice.said:
            plan.remark(place, choice.said)
        if choice.problem:
            plan.conflict(place, choice.problem)
        runs = {f"result_{number}.txt": one for number, one in enumerate(choice.taken)}
        for name in runs.keys() & named.keys():
            plan.conflict(f"{place}/{name}", "it is named, and numbered by launch, too")
        runs = {**named, **runs}
        for name, one in runs.items():
            self._log(f"{place}/{name}", one)
        for number, one in enumerate(choice.pruned):
            self._log(f"{place}/{PRUNED}/result_{number}.txt", one)
        self._pruned(result, place, len(choice.pruned))
        needed = needed_runs(plan.rules, benchmark or result.benchmark)
        if len(runs) < needed:
            plan.miss(place, f"{len(runs)} runs; {needed} are needed")
        if result.scaling_file:
            self._file(f"{place}/{SCALING_FILE}", result.scaling_file, "scaling")
        self._power(result, f"{place}/{POWER}", {n: one.source for n, one in runs.items()})

    def _log(self, place: str, one: Candidate) -> None:
        before = self.places.setdefault(one.source.path, place)
        if before != place:
            self.plan.conflict(place, f"{one.source.shown} is {before} already; each run is one")
        self.plan.add(place, one.source, _about(one))
        if one.judged is not None:
            self.plan.judged.setdefault(place, one.judged)

    def _pruned(self, result: ResultConfig, place: str, start: int) -> None:
        for number, path in enumerate(self._expanded(result.pruned), start):
            name = f"{place}/{PRUNED}/result_{number}.txt"
            try:
                self.plan.add(name, log_source(path, self.base))
            except SourceFault as fault:
                self.plan.miss(name, f"{path}: {fault}")

    def _power(self, result: ResultConfig, place: str, names: Mapping[str, Source]) -> None:
        """Power logs: a folder for each run, named as its log was, or named by the submitter."""
        if isinstance(result.power, dict):
            for name, path in result.power.items():
                self._power_folder(f"{place}/{name}", self.base / path)
            return
        root = self.base / result.power
        for name, source in names.items():
            stem = os.path.splitext(os.path.basename(source.path))[0]
            self._power_folder(f"{place}/{name.removesuffix('.txt')}", root / stem)

    def _power_folder(self, place: str, folder: Path) -> None:
        if folder.is_dir():
            self._folder(place, folder, ())
        else:
            self.plan.miss(place, f"no power logs: {shown_path(folder, self.base)} is no folder")


def _about(one: Candidate) -> str:
    """What the plan says of a run beside its place."""
    if one.errors and not (one.facts and one.facts.missed_only):
        count = len(one.errors)
        return f"its log breaks {count} rule{'s' if count > 1 else ''}: {one.errors[0]}"
    if one.facts is not None and not one.facts.run.converged:
        return "did not converge; kept, as it counts as slowest"
    return ""
