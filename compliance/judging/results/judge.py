"""The check of one result: the number of its runs, failed runs, and equal settings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from podium.compliance.judging.inputs.benchmark_names import advice_on
from podium.compliance.judging.inputs.layout import RESULT_NAME, ResultFolder, Tree
from podium.compliance.judging.inputs.listing import holds
from podium.compliance.judging.inputs.log_names import is_compressed, placed
from podium.compliance.judging.inputs.tree_rules import (
    MISNAMED_LOG,
    MISPLACED,
    UNKNOWN_BENCHMARK,
    UNKNOWN_FILE,
)
from podium.compliance.judging.results.consistency import one_kind
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.plausibility import plausible
from podium.compliance.judging.results.reference_points import judge_scaling
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.rules.run_rules import (
    BROKEN_RUN_DROPPED,
    COMPRESSED_LOG,
    EVALUATIONS_LEFT_OUT,
    INVALID_LOG_NAME,
    NOT_CONVERGED,
    NUMBERING,
    TOO_FEW_RUNS,
    TOO_MANY_FAILED_RUNS,
    TOO_MANY_RUNS,
    UNFINISHED_RUN_DROPPED,
)
from podium.compliance.text.words import join_limited, plural
from podium.rules.finding import Finding, Severity, StatedBy
from podium.rules.model.round import Round

_MOST = 20
"""Findings about names in one folder beyond this number are only counted, in the last finding."""


def judge_result(
    tree: Tree, folder: ResultFolder, result: Result, context: JudgingContext
) -> ResultVerdict:
    """The verdict on one result: the number of its runs, failed runs, and equal settings."""
    verdict, quirks = ResultVerdict(folder, result), context.quirks
    if quirks.blames_power_logs and result.power is not None:
        verdict.blamed = result.power.blamed
    if quirks.skips_unknown_folders and not folder.official:
        return verdict
    path = result.place.display_path
    verdict.findings += _run_count(verdict, path, context)
    verdict.findings += [
        COMPRESSED_LOG.found(context.profile, run.display_path, name=run.name)
        for run in result.runs
        if run.facts.compressed
    ]
    verdict.findings += _failures(verdict, path, context)
    if not quirks.ignores_policy:
        verdict.findings += _names(tree, folder, context)
        # No time of the result follows the rules
        if result.runs and all(run.facts.leaves_out for run in result.runs):
            severity = Severity.ERROR if context.rules.package.unprecedented else None
            count = len(result.runs)
            verdict.findings.append(
                EVALUATIONS_LEFT_OUT.found(context.profile, path, severity=severity, runs=count)
            )
        verdict.findings += one_kind(verdict, path, context)
        verdict.findings += plausible(verdict, path, context)
        verdict.findings += judge_scaling(result)
    if cause := _place_of_missing_runs(tree, folder, context.rules):
        verdict.findings = [*_of_missing_runs(verdict.findings, cause)]
    if not folder.official:
        verdict.findings = [_of_policy(finding) for finding in verdict.findings]
    return verdict


def _place_of_missing_runs(tree: Tree, folder: ResultFolder, rules: Round) -> str:
    """The rule about other logs of the system, which may be the missing runs; "" if there are none.

    They are outside the folders of results, or in a folder whose name may mean the benchmark.
    """
    if not tree.strays.isdisjoint(("", folder.system)):
        return MISPLACED.id
    misnamed = any(
        holds(f"results/{folder.system}", path)
        and folder.benchmark in advice_on(path.rpartition("/")[2], rules)[1]
        for path in tree.unjudged
    )
    return UNKNOWN_BENCHMARK.id if misnamed else ""


def _of_missing_runs(findings: Iterable[Finding], cause: str) -> Iterator[Finding]:
    """The findings; those about missing runs follow from the cause."""
    for finding in findings:
        follows = finding.id in (TOO_FEW_RUNS.id, NUMBERING.id)
        yield replace(finding, caused_by=cause) if follows else finding


def _of_policy(finding: Finding) -> Finding:
    """The same finding, stated only by the policy: the official verifier skips the folder."""
    if finding.severity is not Severity.ERROR:
        return finding
    return replace(finding, severity=Severity.WARNING, stated_by=StatedBy.POLICY)


# --- how many runs ---


def _run_count(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    folder = verdict.folder
    benchmark = context.rules.benchmark(folder.benchmark)
    needed_runs, run_count = benchmark.runs, len(folder.logs)
    is_weak = folder.scaling == "weak"
    if run_count < needed_runs:
        yield TOO_FEW_RUNS.found(
            context.profile,
            path,
            given=run_count,
            present=plural(run_count, "run"),
            least="at least " if is_weak else "",
            needed=needed_runs,
            runs=plural(needed_runs - run_count, "more run"),
            benchmark=folder.benchmark,
        )
    # Throughput has only a least number of instances
    elif run_count > needed_runs and not (is_weak or benchmark.first_converging):
        allowed = context.rules.package.median_window
        yield TOO_MANY_RUNS.found(
            context.profile,
            path,
            stated_by=StatedBy.VERIFIER if allowed else StatedBy.BOTH,
            given=run_count,
            needed=needed_runs,
            demand=_demand(verdict, needed_runs, context),
        )


def _demand(verdict: ResultVerdict, needed: int, context: JudgingContext) -> str:
    """The number of runs that each text accepts if there are more than needed."""
    rules, run_count = context.rules, len(verdict.folder.logs)
    if not rules.verified:
        return f"expected {needed}"
    official = f"the official verifier accepts exactly {needed}"
    if context.quirks.counts_all_runs or not rules.package.median_window:
        return official
    window = join_limited([run.name for run in _by_launch(_scored(verdict, context))], 12)
    return f"{official}, the policy scores the median of {run_count - needed + 1} windows: {window}"


def _by_launch(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.facts.run.start_ms or math.inf)


def _scored(verdict: ResultVerdict, context: JudgingContext) -> list[Run]:
    """The runs whose failures count: the median window if there are more runs than needed."""
    result, benchmark = verdict.result, context.rules.benchmark(verdict.folder.benchmark)
    # The runs of NCF that are not scored count, too: see `_failures`
    if context.quirks.counts_all_runs or result.weak or benchmark.first_converging:
        return result.runs
    parts = zip(result.runs, result.score.runs, strict=True)
    return [run for run, part in parts if part.role != "outside"]


# --- which may fail ---


def _failures(verdict: ResultVerdict, path: str, context: JudgingContext) -> Iterator[Finding]:
    """Findings about failing runs; some may be dropped as slowest if they only miss the target."""
    benchmark = context.rules.benchmark(verdict.folder.benchmark)
    allowed, scored = benchmark.dropped, _scored(verdict, context)
    if benchmark.first_converging:
        # In 0.5, the first 50 of NCF's 100 runs that converge count: the others may fail
        allowed = max(allowed, len(scored) - benchmark.runs)
    failed = sum(map(verdict.failing, scored))
    failing_count = sum(verdict.failing(run) or not run.facts.run.converged for run in scored)
    if failed > allowed:
        finding = TOO_MANY_FAILED_RUNS.found(
            context.profile, path, given=len(scored), allowed=allowed, failed=failed
        )
        causes = (run.fault for run in scored if verdict.failing(run) and run.fault)
        yield replace(finding, caused_by=next(causes, ""))
    if context.quirks.ignores_policy:
        return
    # A log of the open division may end aborted without violating a rule
    if failed <= allowed < failing_count and not verdict.result.weak:
        names = [run.name for run in scored if verdict.failing(run) or not run.facts.run.converged]
        # If the result fails the test of convergence, these runs are the reason
        fails = verdict.result.convergence.fault == "unfinished"
        yield NOT_CONVERGED.found(
            context.profile,
            path,
            severity=None if fails else Severity.WARNING,
            given=len(scored),
            allowed=allowed,
            lacking=failing_count,
            names=join_limited(names, 6),
        )
    # In 0.5, the runs of NCF that do not count are not dropped as slowest
    if failed <= allowed and not benchmark.first_converging and verdict.failed_runs:
        yield from _dropped_runs(verdict, context)


def _dropped_runs(verdict: ResultVerdict, context: JudgingContext) -> Iterator[Finding]:
    """Findings about each failing run, which may or may not be dropped as the slowest."""
    for run in verdict.result.runs:
        # The verifier drops any failing log as the slowest, for whatever reason it fails
        if not verdict.failing(run):
            continue
        ended = run.facts.unfinished
        if ended is not None:
            yield UNFINISHED_RUN_DROPPED.found(
                context.profile,
                run.display_path,
                line=ended.line,
                last=ended.line,
                phase=ended.phase,
            )
        elif not run.facts.missed_only:
            finding = BROKEN_RUN_DROPPED.found(context.profile, run.display_path)
            yield replace(finding, caused_by=run.fault)


# --- the files in the folder ---


def _names(tree: Tree, folder: ResultFolder, context: JudgingContext) -> Iterator[Finding]:
    usual_paths = [f"{folder.path}/result_{number}.txt" for number in range(len(folder.logs))]
    invalid: list[str] = []
    numbers = []
    for path in folder.logs if [*folder.logs] != usual_paths else ():
        match = RESULT_NAME.fullmatch(path.rpartition("/")[2])
        if match is None:
            invalid.append(path)
        else:
            numbers.append(int(match[1]))
    for path in invalid[:_MOST]:
        name = path.rpartition("/")[2]
        # Published results of 4.0 and 4.1 have names such as result_5119-…_06.txt
        published = name[:-4].endswith(tuple("0123456789"))
        yield INVALID_LOG_NAME.found(
            context.profile,
            tree.place(path),
            severity=Severity.NOTE if published else Severity.WARNING,
            name=name,
            more=_more(invalid, path),
        )
    sorted_numbers = sorted(numbers)
    first = 1 if sorted_numbers[:1] == [1] else 0
    if not invalid and sorted_numbers != list(range(first, first + len(sorted_numbers))):
        yield NUMBERING.found(
            context.profile,
            tree.place(folder.path),
            numbers=join_limited([str(number) for number in sorted_numbers], 12),
        )
    if folder.misnamed:
        yield from _misnamed(tree, folder, context)
    for name in folder.unknown[:_MOST]:
        path = tree.place(f"{folder.path}/{name}")
        remark = _more(folder.unknown, name)
        yield UNKNOWN_FILE.found(context.profile, path, name=name, remark=remark)


def _misnamed(tree: Tree, folder: ResultFolder, context: JudgingContext) -> Iterator[Finding]:
    """Findings about logs that are not counted because of their names, with the correct names."""
    needed_runs = context.rules.benchmark(folder.benchmark).runs
    names = [path.rpartition("/")[2] for path in folder.logs]
    placing = placed(names, folder.misnamed, None if folder.scaling == "weak" else needed_runs)
    for name in folder.misnamed[:_MOST]:
        path, new_name = f"{folder.path}/{name}", placing.names.get(name)
        verb = "decompress" if is_compressed(tree.root / path) else "rename"
        yield MISNAMED_LOG.found(
            context.profile,
            tree.place(path),
            severity=None if len(names) < needed_runs else Severity.WARNING,
            name=name,
            more=_more(folder.misnamed, name),
            how=f"{verb} it to {new_name} (podium fix does it)" if new_name else placing.left[name],
        )


def _more(names: Sequence[str], name: str) -> str:
    """The number of further findings, for the last finding that is reported."""
    if len(names) > _MOST and name == names[_MOST - 1]:
        return f" (and {len(names) - _MOST} more like it)"
    return ""
