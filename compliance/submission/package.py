"""A submission as the committee sees it: its result sets, one by one and together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from podium.compliance.inputs.layout import RESULT_NAME, SCALING_FILE, ResultFolder, Tree
from podium.compliance.inputs.tree_rules import UNKNOWN_FILE
from podium.compliance.results.consistency import (
    SubmissionIndex,
    copies,
    one_kind,
    overlaps,
    same_scores,
)
from podium.compliance.results.model import (
    JudgingContext,
    ResultVerdict,
    Run,
    join_limited,
    needed_runs,
)
from podium.compliance.results.scaling_file import read_scaling
from podium.compliance.results.score import median_window
from podium.compliance.results.throughput import without_strong
from podium.rules.convergence.run_counts import (
    dropped_of,
    takes_first_converging,
    takes_median_window,
)
from podium.rules.finding import Finding, Severity, StatedBy

_AT_THE_END = 20
"""Findings about names in one folder beyond this many are counted in the last one."""


def judge_together(
    tree: Tree,
    results: Sequence[ResultVerdict],
    by: JudgingContext,
    seen: SubmissionIndex | None = None,
) -> Iterator[Finding]:
    """What only shows when all results of a submission are seen: the policy's demands.

    `seen` has the runs of submissions judged before, and takes those of this one.
    """
    if by.verifier:
        return
    copied = [*copies(((run.display_path, run.facts) for v in results for run in v.runs), by, seen)]
    yield from copied
    yield from same_scores(tree, results, {finding.path for finding in copied}, by, seen)
    if seen is not None and seen.earlier is not None:
        from podium.compliance.history.hyperparameter_borrowing import borrowed
        from podium.compliance.history.preview_followup import followed
        from podium.compliance.history.prior_submission import resubmitted

        for compare in (resubmitted, borrowed, followed):
            yield from compare(tree, results, seen.earlier, by)
    yield from overlaps(results, tree.place("results"), by)
    yield from without_strong(tree, results, by)


def judge_result(
    tree: Tree, folder: ResultFolder, runs: list[Run], division: str, by: JudgingContext
) -> ResultVerdict:
    """One result: the number of its runs, which may fail, and whether they are of one kind."""
    verdict = ResultVerdict(folder, division, runs=runs)
    verdict.failed_runs = sum(run.failed for run in runs)
    problem = ""
    if tree.disk.has(folder.path, SCALING_FILE):
        verdict.factor, problem = read_scaling(f"{tree.root}/{folder.path}")
    if by.verifier and not folder.official:
        return verdict
    where = tree.place(folder.path)
    verdict.findings += _counted(verdict, where, by)
    verdict.findings += _failures(verdict, where, by)
    if not by.verifier:
        verdict.findings += _names(tree, folder, by)
        verdict.findings += one_kind(verdict, where, by)
        verdict.findings += _scaling(tree, folder, problem, by)
    if not folder.official:
        verdict.findings = [_of_policy(finding) for finding in verdict.findings]
    return verdict


def _of_policy(finding: Finding) -> Finding:
    """The same finding, of the policy alone: the official verifier passes over the folder."""
    if finding.severity is not Severity.ERROR:
        return finding
    return replace(finding, severity=Severity.WARNING, stated_by=StatedBy.POLICY)


# --- how many runs ---


def _counted(verdict: ResultVerdict, where: str, by: JudgingContext) -> Iterator[Finding]:
    folder = verdict.folder
    needed, given = needed_runs(by.rules, folder.benchmark), len(folder.logs)
    weak = folder.scaling == "weak"
    if given < needed:
        yield by.finding(
            "result.too-few-runs",
            where,
            f"the result has {given} runs; must have {'at least ' if weak else ''}{needed}",
            f"add {needed - given} more runs of {folder.benchmark}",
            expected=str(needed),
            actual=given,
        )
    elif given > needed and not weak and not _first_converging(verdict, by):
        allowed = takes_median_window(by.rules.usage, by.rules.name)
        said = f"the result has {given} runs; the official verifier takes exactly {needed}"
        if not by.rules.verified:
            said = f"the result has {given} runs; must have {needed}"
        elif allowed and not by.verifier:
            said += (
                f", the policy the median of {given - needed + 1} windows: {_window(verdict, by)}"
            )
        yield by.finding(
            "result.too-many-runs",
            where,
            said,
            f"hand in the {needed} runs of one window only (podium pack chooses them)",
            stated_by=StatedBy.VERIFIER if allowed else StatedBy.BOTH,
            expected=str(needed),
            actual=given,
        )


def _first_converging(verdict: ResultVerdict, by: JudgingContext) -> bool:
    return takes_first_converging(by.rules.usage, by.rules.name, verdict.folder.benchmark)


def _scored(verdict: ResultVerdict, by: JudgingContext) -> list[Run]:
    """The runs among which failures count: the median window where there are more than needed."""
    needed, runs = needed_runs(by.rules, verdict.folder.benchmark), verdict.runs
    windows = takes_median_window(by.rules.usage, by.rules.name)
    if by.verifier or not windows or len(runs) <= needed or verdict.folder.scaling == "weak":
        return runs
    facts = [run.facts.run for run in runs]
    _, outside = median_window(facts, needed, dropped_of(verdict.folder.benchmark))
    return [run for index, run in enumerate(runs) if index not in outside]


def _window(verdict: ResultVerdict, by: JudgingContext) -> str:
    scored = sorted(_scored(verdict, by), key=lambda run: run.facts.run.start_ms or math.inf)
    return join_limited([run.name for run in scored], 12)


# --- which may fail ---


def _failures(verdict: ResultVerdict, where: str, by: JudgingContext) -> Iterator[Finding]:
    """Failing runs: some may be dropped as slowest, if all they lack is the target."""
    allowed = dropped_of(verdict.folder.benchmark)
    scored = _scored(verdict, by)
    if _first_converging(verdict, by):
        allowed = max(allowed, len(scored) - needed_runs(by.rules, verdict.folder.benchmark))
    failed = sum(run.failed for run in scored)
    lacking = sum(run.failed or not run.facts.run.converged for run in scored)
    if failed > allowed:
        yield by.finding(
            "result.too-many-failed-runs",
            where,
            f"{failed} of {len(scored)} runs fail; at most {allowed} may",
            "mend the logs' findings, or repeat the runs that did not converge",
            expected=f"at most {allowed}",
            actual=failed,
        )
    elif lacking > allowed and not by.verifier and verdict.folder.scaling == "strong":
        yield by.finding(
            "result.not-converged",
            where,
            f"{lacking} of {len(scored)} runs fail or end without success; at most {allowed} may",
            "repeat the runs whose run_stop does not tell of success",
            stated_by=StatedBy.POLICY,
            expected=f"at most {allowed}",
            actual=lacking,
        )
    if not by.verifier and failed <= allowed:
        yield from _broken(verdict, by)


def _broken(verdict: ResultVerdict, by: JudgingContext) -> Iterator[Finding]:
    for run in verdict.runs:
        if run.failed and not run.facts.missed_only:
            yield by.finding(
                "result.broken-run-dropped",
                run.display_path,
                "this log breaks rules beyond missing the target; only a run that did not converge "
                "may be dropped as the slowest",
                "mend the findings of this log, or repeat the run",
                stated_by=StatedBy.POLICY,
            )


# --- what lies in the folder ---


def _names(tree: Tree, folder: ResultFolder, by: JudgingContext) -> Iterator[Finding]:
    usual = [f"{folder.path}/result_{number}.txt" for number in range(len(folder.logs))]
    odd: list[str] = []
    numbers = []
    for path in folder.logs if [*folder.logs] != usual else ():
        match = RESULT_NAME.fullmatch(path.rpartition("/")[2])
        if match is None:
            odd.append(path)
        else:
            numbers.append(int(match[1]))
    for path in odd[:_AT_THE_END]:
        name = path.rpartition("/")[2]
        yield by.finding(
            "result.invalid-log-name",
            tree.place(path),
            f"the log is called {name}; must be result_<i>.txt with a number"
            + _more(odd, path, _AT_THE_END),
            "number the runs from 0",
            stated_by=StatedBy.POLICY,
            note=name[:-4].endswith(tuple("0123456789")),  # published results have such names
        )
    if not odd and sorted(numbers) != list(range(len(numbers))):
        told = join_limited([str(number) for number in sorted(numbers)], 12)
        yield by.finding(
            "result.numbering",
            tree.place(folder.path),
            f"runs are numbered {told}; must be 0 to {len(numbers) - 1}",
            "number the runs from 0 without gaps",
            stated_by=StatedBy.POLICY,
        )
    for name in folder.strange[:_AT_THE_END]:
        yield UNKNOWN_FILE.found(
            by.profile,
            tree.place(f"{folder.path}/{name}"),
            name=name,
            remark=_more(folder.strange, name, _AT_THE_END),
        )


def _more(names: Sequence[str], name: str, most: int) -> str:
    """How many more there are, for the last one that is told."""
    if len(names) > most and name == names[most - 1]:
        return f" (and {len(names) - most} more like it)"
    return ""


def _scaling(
    tree: Tree, folder: ResultFolder, problem: str, by: JudgingContext
) -> Iterator[Finding]:
    if problem:
        yield by.finding(
            "result.bad-scaling",
            tree.place(f"{folder.path}/{SCALING_FILE}"),
            f"{SCALING_FILE} {problem}; the score is not scaled by it",
            'write {"scaling_factor": 1.05} with the factor that was decided',
            stated_by=StatedBy.POLICY,
            key="scaling_factor",
        )
