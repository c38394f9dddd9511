"""The results of a plan: find logs by glob or by name, check each once, choose, number."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from podium.compliance.judging.inputs.benchmark_names import about_name, benchmark_called
from podium.compliance.judging.inputs.layout import (
    POWER,
    PRUNED,
    SCALING_FILE,
    is_log,
)
from podium.compliance.judging.inputs.listing import holds
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import judge_paths
from podium.compliance.text.words import plural
from podium.compliance.tools.packing.planning.choice import Candidate, Choice, Chooser, find_copies
from podium.compliance.tools.packing.planning.config import ResultConfig
from podium.compliance.tools.packing.planning.plan import Plan, put_file, put_folder
from podium.compliance.tools.packing.planning.sources import (
    LeftOut,
    Source,
    SourceFault,
    excluded,
    expand,
    log_source,
    shown_path,
)
from podium.rules.finding import Severity
from podium.rules.model.round import Round


def take_results(plan: Plan, jobs: int) -> None:
    """Add the results of the configuration to the plan; `jobs` processes check the logs."""
    _Results(plan, jobs).take()


def result_path(result: ResultConfig, rules: Round) -> str:
    """The folder of a result's logs in the tree."""
    inner = f"{result.scaling}/" if rules.package.scaling_folders else ""
    return f"results/{result.system}/{inner}{result.benchmark}"


class _Results:
    def __init__(self, plan: Plan, jobs: int) -> None:
        self.plan, self.jobs = plan, jobs
        self.config, self.base = plan.config, plan.base
        self.paths: dict[str, str] = {}

    def take(self) -> None:
        rules, results = self.plan.rules, self.config.results
        candidates = [self._candidates(result) for result in results]
        named_logs = [self._names(result) for result in results]
        groups = [*candidates, *(logs.values() for logs in named_logs)]
        # All results at once, so that the processes share the work and no log is read twice
        judged = self._judged({source.path: source for logs in groups for source in logs})
        # Logs that the submitter names are accepted even if they are copies
        globbed = {source.path for logs in candidates for source in logs}
        copied = find_copies([judged[path] for path in sorted(globbed)], rules)
        chooser = Chooser(rules, self.config.division or "")
        left_out: dict[str, LeftOut] = {}
        for result, logs, names in zip(results, candidates, named_logs, strict=True):
            choice = chooser.choose(result, [judged[source.path] for source in logs], copied)
            for log in choice.left_out:
                left_out.setdefault(log.display_path, log)
            self._result(result, choice, {n: judged[source.path] for n, source in names.items()})
        packed_paths = {entry.source.display_path for entry in self.plan.entries.values()}
        # The globs of two results may overlap: another result may accept a refused log
        self.plan.left_out += [
            log for log in left_out.values() if log.display_path not in packed_paths
        ]

    def _candidates(self, result: ResultConfig) -> list[Source]:
        sources = []
        for pattern in result.logs:
            # One by one: a glob without a match is probably misspelled
            if not expand([pattern], self.base):
                self.plan.lack(result_path(result, self.plan.rules), f"no log matches {pattern}")
        for path in self._expanded(result.logs):
            display_path = shown_path(path, self.base)
            if excluded(display_path, result.exclude):
                self.plan.leave_out(display_path, "excluded")
                continue
            try:
                sources.append(log_source(path, self.base))
            except SourceFault as fault:
                self.plan.leave_out(display_path, str(fault), refused=True)
        return sources

    def _expanded(self, patterns: list[str]) -> list[str]:
        """The files that match globs, without the tree of an earlier call."""
        target = os.path.realpath(self.base / self.config.into / self.config.submitter)
        paths = expand(patterns, self.base)
        return [path for path in paths if not holds(target, os.path.realpath(path))]

    def _names(self, result: ResultConfig) -> dict[str, Source]:
        """The logs of `names`, by their names in the tree."""
        path, names = result_path(result, self.plan.rules), {}
        for name, source in result.names.items():
            if not is_log(name):
                self.plan.conflict(f"{path}/{name}", "a log must be named result_<i>.txt")
            try:
                names[name] = log_source(self.base / source, self.base)
            except SourceFault as fault:
                self.plan.lack(f"{path}/{name}", f"{source}: {fault}")
        return names

    def _judged(self, sources: Mapping[str, Source]) -> dict[str, Candidate]:
        """The logs with their facts and findings, by path; each is read once."""
        if not sources:
            return {}
        rules = self.plan.rules
        options = Options(usage=rules.usage, round=rules.name, jobs=self.jobs)
        files = judge_paths([Path(path) for path in sources], options).files
        judged = {}
        for path, source in sources.items():
            file_verdict = files[path]
            facts = (
                file_verdict.verdict.facts
                if isinstance(file_verdict.verdict.facts, Facts)
                else None
            )
            broken = {f.id for f in file_verdict.verdict.findings if f.severity is Severity.ERROR}
            judged[path] = Candidate(source, facts, tuple(sorted(broken)), file_verdict)
        return judged

    def _result(
        self, result: ResultConfig, choice: Choice, named_logs: Mapping[str, Candidate]
    ) -> None:
        plan, path = self.plan, result_path(result, self.plan.rules)
        benchmark = benchmark_called(result.benchmark, plan.rules)
        if not benchmark:
            plan.remark(path, "; ".join(about_name(result.benchmark, plan.rules)))
        if choice.note:
            plan.remark(path, choice.note)
        if choice.problem:
            plan.conflict(path, choice.problem)
        runs = {f"result_{number}.txt": candidate for number, candidate in enumerate(choice.taken)}
        for name in runs.keys() & named_logs.keys():
            plan.conflict(f"{path}/{name}", "both `names` and numbering by launch use this name")
        runs = {**named_logs, **runs}
        for name, candidate in runs.items():
            self._log(f"{path}/{name}", candidate)
        for number, candidate in enumerate(choice.pruned):
            self._log(f"{path}/{PRUNED}/result_{number}.txt", candidate)
        # Logs of `pruned` are numbered after the logs that podium prunes
        self._pruned(result, path, len(choice.pruned))
        needed = plan.rules.benchmark(benchmark or result.benchmark).runs
        if len(runs) < needed:
            plan.miss(path, f"{len(runs)} runs; {needed} are needed")
        if result.scaling_file:
            put_file(self.plan, f"{path}/{SCALING_FILE}", result.scaling_file, "scaling")
        self._power(
            result, f"{path}/{POWER}", {n: candidate.source for n, candidate in runs.items()}
        )

    def _log(self, path: str, candidate: Candidate) -> None:
        before = self.paths.setdefault(candidate.source.path, path)
        if before != path:
            self.plan.conflict(
                path, f"{candidate.source.display_path} is already {before}; each run counts once"
            )
        self.plan.add(path, candidate.source, _about(candidate))
        if candidate.judged is not None:
            self.plan.judged.setdefault(path, candidate.judged)

    def _pruned(self, result: ResultConfig, path: str, start: int) -> None:
        for number, source in enumerate(self._expanded(result.pruned), start):
            log = f"{path}/{PRUNED}/result_{number}.txt"
            try:
                self.plan.add(log, log_source(source, self.base))
            except SourceFault as fault:
                self.plan.lack(log, f"{source}: {fault}")

    def _power(self, result: ResultConfig, path: str, names: Mapping[str, Source]) -> None:
        """Add the power logs: one folder per run, named like its source log or by the submitter."""
        if isinstance(result.power, dict):
            for name, folder in result.power.items():
                self._power_folder(f"{path}/{name}", self.base / folder)
            return
        root = self.base / result.power
        for name, source in names.items():
            stem = os.path.splitext(os.path.basename(source.path))[0]
            self._power_folder(f"{path}/{name.removesuffix('.txt')}", root / stem)

    def _power_folder(self, path: str, folder: Path) -> None:
        if folder.is_dir():
            put_folder(self.plan, path, folder, ())
        else:
            self.plan.miss(path, f"no power logs: {shown_path(folder, self.base)} is not a folder")


def _about(candidate: Candidate) -> str:
    """A note on a run, printed next to its path."""
    # A run that only misses the target violates no rule
    if candidate.errors and not (candidate.facts and candidate.facts.droppable):
        return f"its log violates {plural(len(candidate.errors), 'rule')}: {candidate.errors[0]}"
    if candidate.facts is not None and not candidate.facts.run.converged:
        return "did not converge; kept, because it counts as the slowest run"
    return ""
