"""A submission as the committee sees it: its tree, its result sets, its power, its documents."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from compliance.facts import Facts
from compliance.tree import RESULT_NAME, ResultFolder, Tree, has_scalings
from rules.convergence.result import Convergence
from rules.finding import Finding, Profile, Severity, StatedBy
from rules.round import Round


@dataclass(slots=True)
class Run:
    """One log of a result, judged: where a report shows it, its verdict and its facts."""

    shown: str
    failed: bool
    facts: Facts


@dataclass(slots=True)
class ResultVerdict:
    """One result: its findings beside those of its logs, and what decides it."""

    folder: ResultFolder
    division: str
    findings: list[Finding] = field(default_factory=list)
    failed_runs: int = 0
    runs: list[Run] = field(default_factory=list)
    convergence: Convergence | None = None

    @property
    def rejected(self) -> bool:
        """Whether the result is not accepted."""
        return any(f.severity is Severity.ERROR and not f.waived for f in self.findings)


@dataclass(frozen=True, slots=True)
class By:
    """By which text a package is judged."""

    rules: Round
    profile: Profile

    @property
    def verifier(self) -> bool:
        """Whether only the official verifier's rules count."""
        return self.profile is Profile.VERIFIER

    def finding(
        self,
        rule: str,
        path: str,
        message: str,
        hint: str = "",
        *,
        stated_by: StatedBy = StatedBy.BOTH,
        expected: str = "",
        actual: object = None,
        key: str | None = None,
    ) -> Finding:
        """A finding of a file or folder: an error where the verifier rejects it, too."""
        error = stated_by is not StatedBy.POLICY and not self._overruled(stated_by)
        severity = Severity.ERROR if error else Severity.WARNING
        return Finding(
            rule, severity, path, None, key, message, expected, actual, hint, "", stated_by
        )

    def _overruled(self, stated_by: StatedBy) -> bool:
        return stated_by is StatedBy.VERIFIER and not self.verifier


def needed_runs(rules: Round, benchmark: str) -> int:
    """How many runs a result needs: training rules, Benchmark Results."""
    known = rules.benchmarks.get(benchmark)
    return known.runs if known is not None else 10


def allowed_failures(benchmark: str) -> int:
    """Runs that may fail and count as the slowest: one; four of unet3d's forty."""
    return 4 if benchmark == "unet3d" else 1


def judge_tree(tree: Tree, by: By) -> Iterator[Finding]:
    """What is misplaced, missing or unknown in a submission's tree."""
    if not tree.results and not by.verifier:
        hint = "put logs into results/<system>/<benchmark>/result_<i>.txt"
        yield by.finding(
            "tree.no-results", tree.place("results"), "the submission holds no result", hint
        )
    for system in tree.result_systems:
        if system not in tree.systems:
            yield by.finding(
                "tree.no-system-description",
                tree.place(f"systems/{system}.json"),
                f"results/{system} has no description in systems; must have {system}.json",
                f"run `podium system init` on the system, or rename the folder to one of "
                f"{', '.join(sorted(tree.systems)) or 'the systems described'}",
            )
    for system, path in sorted(tree.systems.items()):
        if system not in tree.result_systems and not by.verifier:
            yield by.finding(
                "tree.system-without-results",
                tree.place(path),
                f"{path} describes a system that has no results",
                f"add results/{system}, or remove the description",
                stated_by=StatedBy.POLICY,
            )
    for thing in tree.misplaced:
        if not by.verifier or not thing.benchmark:
            rule = "tree.unknown-benchmark" if thing.benchmark else "tree.misplaced"
            stated = StatedBy.POLICY if thing.benchmark or not has_scalings(by.rules) else None
            yield by.finding(
                rule,
                tree.place(thing.path),
                thing.why,
                thing.hint,
                stated_by=stated or StatedBy.BOTH,
            )


def judge_result(
    tree: Tree, folder: ResultFolder, runs: list[Run], division: str, by: By
) -> ResultVerdict:
    """One result: the number of its runs, which may fail, and whether they are of one kind."""
    verdict = ResultVerdict(folder, division, runs=runs)
    verdict.failed_runs = sum(run.failed for run in runs)
    where = tree.place(folder.path)
    verdict.findings += _counted(folder, where, by)
    verdict.findings += _failures(verdict, where, by)
    if not by.verifier:
        verdict.findings += _names(tree, folder, by)
        verdict.findings += _one_kind(verdict, where, by)
    return verdict


def _counted(folder: ResultFolder, where: str, by: By) -> Iterator[Finding]:
    needed, given = needed_runs(by.rules, folder.benchmark), len(folder.logs)
    weak = folder.scaling == "weak"
    if given >= needed and (weak or given == needed):
        return
    if given < needed:
        yield by.finding(
            "result.too-few-runs",
            where,
            f"the result has {given} runs; must have {'at least ' if weak else ''}{needed}",
            f"add {needed - given} more runs of {folder.benchmark}",
            expected=str(needed),
            actual=given,
        )
    else:
        yield by.finding(
            "result.too-many-runs",
            where,
            f"the result has {given} runs; the official verifier takes exactly {needed}",
            "choose the window of runs that the policy's median rule names (podium pack does)",
            stated_by=StatedBy.VERIFIER,
            expected=str(needed),
            actual=given,
        )


def _failures(verdict: ResultVerdict, where: str, by: By) -> Iterator[Finding]:
    """Failing runs: some may be dropped as slowest, if all they lack is the target."""
    allowed, failed = allowed_failures(verdict.folder.benchmark), verdict.failed_runs
    if failed > allowed:
        yield by.finding(
            "result.too-many-failed-runs",
            where,
            f"{failed} of {len(verdict.runs)} runs fail; at most {allowed} may",
            "mend the logs' findings, or repeat the runs that did not converge",
            expected=f"at most {allowed}",
            actual=failed,
        )
        return
    if by.verifier:
        return
    for run in verdict.runs:
        if run.failed and not run.facts.missed_only:
            yield by.finding(
                "result.broken-run-dropped",
                run.shown,
                "this log breaks rules beyond missing the target; only a run that did not converge "
                "may be dropped as the slowest",
                "mend the findings of this log, or repeat the run",
                stated_by=StatedBy.POLICY,
            )


def _names(tree: Tree, folder: ResultFolder, by: By) -> Iterator[Finding]:
    numbers = []
    for path in folder.logs:
        name = path.rpartition("/")[2]
        match = RESULT_NAME.fullmatch(name)
        if match is None:
            yield by.finding(
                "result.strange-log-name",
                tree.place(path),
                f"the log is called {name}; must be result_<i>.txt with a number",
                "number the runs from 0",
                stated_by=StatedBy.POLICY,
            )
        else:
            numbers.append(int(match[1]))
    if len(numbers) == len(folder.logs) and sorted(numbers) != list(range(len(numbers))):
        yield by.finding(
            "result.numbering",
            tree.place(folder.path),
            f"runs are numbered {', '.join(map(str, sorted(numbers)[:12]))}; must be 0 to "
            f"{len(numbers) - 1}",
            "number the runs from 0 without gaps",
            stated_by=StatedBy.POLICY,
        )
    for name in folder.strange:
        yield by.finding(
            "tree.unknown-file",
            tree.place(f"{folder.path}/{name}"),
            f"{name} does not belong among the logs of a result",
            "remove it, or rename a log to result_<i>.txt",
            stated_by=StatedBy.POLICY,
        )


def _one_kind(verdict: ResultVerdict, where: str, by: By) -> Iterator[Finding]:
    """All runs of one result have the folder's benchmark, one division, one set of settings."""
    folder, runs = verdict.folder, verdict.runs
    for run in runs:
        stated = run.facts.run.benchmark
        if stated and stated != folder.benchmark:
            yield by.finding(
                "result.other-benchmark",
                run.shown,
                f"the log says submission_benchmark {stated}; the folder says {folder.benchmark}",
                "move the log to its benchmark's folder",
                stated_by=StatedBy.POLICY,
                key="submission_benchmark",
            )
        division = run.facts.run.division
        if division and verdict.division and division != verdict.division:
            yield by.finding(
                "result.other-division",
                run.shown,
                f"the log says division {division}; the system description says {verdict.division}",
                "state the same division in both",
                stated_by=StatedBy.POLICY,
                key="submission_division",
            )
    yield from _settings(verdict, where, by)


def _settings(verdict: ResultVerdict, where: str, by: By) -> Iterator[Finding]:
    values: dict[str, Counter[str]] = defaultdict(Counter)
    for run in verdict.runs:
        for key, value in run.facts.settings.items():
            values[key][repr(value)] += 1
    for key, counted in sorted(values.items()):
        if len(counted) > 1:
            told = ", ".join(f"{value} in {n}" for value, n in counted.most_common(4))
            yield by.finding(
                "result.mixed-settings",
                where,
                f"{key} differs between the runs ({told}); must be the same in all",
                "repeat the runs that differ with the settings of the others",
                stated_by=StatedBy.POLICY,
                key=key,
            )


def copies(runs: Iterable[tuple[str, Facts]], by: By) -> Iterator[Finding]:
    """Runs that share their times and evaluations with another: one run handed in twice."""
    seen: dict[tuple[object, ...], str] = {}
    for shown, facts in runs:
        if len(facts.fingerprint) < 3:
            continue
        first = seen.setdefault(facts.fingerprint, shown)
        if first != shown:
            yield by.finding(
                "result.copied-run",
                shown,
                f"this log has the times and evaluations of {first}; each run must be its own",
                "remove the copy and add another run",
                stated_by=StatedBy.POLICY,
            )
