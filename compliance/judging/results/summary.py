"""The entry of a result in the report's list of results."""

from __future__ import annotations

from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.reporting.data import RcpEntry, ResultEntry, fails, verdict_word
from podium.rules.convergence.result import Convergence


def result_entry(verdict: ResultVerdict, *, strict: bool = False) -> ResultEntry:
    """The entry of a submission's result; with `strict`, warnings reject it as well."""
    result, official = verdict.result, verdict.official
    if official is None and verdict.result.rules.verified:
        official = verdict
    location = result.place
    return ResultEntry(
        path=location.display_path,
        submitter=location.submitter,
        system=location.system,
        benchmark=location.benchmark,
        division=result.described_division,
        scaling=location.scaling,
        verdict=verdict_word(verdict.rejected or fails(verdict.findings, strict=strict)),
        official_verdict=None if official is None else verdict_word(official.rejected),
        runs=len(result.runs),
        failed_runs=verdict.failed_runs,
        minutes=result.minutes,
        score=result.scaled_minutes,
        rcp=rcp_entry(result.convergence),
    )


def rcp_entry(convergence: Convergence) -> RcpEntry:
    """The entry for a result's convergence."""
    return RcpEntry(
        verdict=convergence.verdict,
        case=convergence.case,
        batch_size=convergence.batch_size,
        mean=convergence.mean,
        minimum=convergence.minimum,
        submission=convergence.submission,
        scaling_factor=convergence.scaling_factor,
    )
