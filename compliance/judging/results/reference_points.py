"""Findings about the convergence of a result, and about the factor that scales its score."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from podium.compliance.judging.inputs.layout import SCALING_FILE
from podium.compliance.judging.results.factor import MARGIN, normalising
from podium.compliance.judging.results.result import Result
from podium.compliance.judging.results.rules.run_rules import (
    BAD_SCALING,
    RCP_FAILED,
    RCP_MISSING,
    UNSUPPORTED_SCALING,
    VERIFIER_CRASH,
)
from podium.compliance.text.words import distinct
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Finding, Severity, StatedBy
from podium.rules.published import granted_in

LEAST_GRANTED = 0.9
"""The least share of the minimum for a granted result; known granted results reach 0.927.

A name and a factor do not prove that the logs are the published logs.
"""


def judge_scaling(result: Result) -> Iterator[Finding]:
    """Findings about a scaling.json that cannot be read, or whose factor is not supported."""
    committee, problem = result.committee_factor
    # The official summary overwrites the file with its own factor
    if result.quirks.computes_factors or (committee is None and not problem):
        return
    path, factor = f"{result.place.display_path}/{SCALING_FILE}", result.score.factor
    if problem:
        yield BAD_SCALING.found(
            result.profile, path, key="scaling_factor", file=SCALING_FILE, problem=problem
        )
    # Without runs nothing can be computed, and no factor multiplies the minutes of throughput
    elif factor.unsupported and result.runs and not result.weak:
        yield UNSUPPORTED_SCALING.found(
            result.profile,
            path,
            key="scaling_factor",
            file=SCALING_FILE,
            problem=factor.note,
            given=factor.committee,
            implied=factor.compared[1],
        )


def judge_reference_points(result: Result) -> Iterator[Finding]:
    """Findings about a result that converges sooner than the reference, by either arithmetic."""
    policy = result.convergence
    if policy.verdict == "not_applicable":
        return
    verifier = result.official_convergence
    # If the official verifier crashes on a benchmark, that says nothing about the result
    benchmark = result.rules.benchmark(result.place.benchmark)
    if benchmark.convergence.crashes_verifier and not result.quirks.crashes_on_logs:
        verifier = policy
    if verifier.fault == "crash":
        # A bypass flag accepts the result of the comparison, but does not prevent the crash
        reason = "; ".join(verifier.messages)
        crash = VERIFIER_CRASH.found(result.profile, result.place.display_path, reason=reason)
        # A run on which the official verifier crashes has a finding with the reason
        faults = (run.fault for run in result.runs if f"crashes on {run.display_path}:" in reason)
        yield replace(crash, caused_by=next(faults, ""))
    judged = policy if policy.verdict != "pass" else verifier
    if judged.verdict == "pass" or judged.fault == "crash":
        return
    stated_by = StatedBy.BOTH
    if policy.verdict == "pass":
        stated_by = StatedBy.VERIFIER
    elif verifier.verdict == "pass":
        stated_by = StatedBy.POLICY
    rule = RCP_MISSING if judged.verdict == "missing" else RCP_FAILED
    decided = _decided(result)
    finding = rule.found(
        result.profile,
        result.place.display_path,
        stated_by=stated_by,
        severity=Severity.WARNING if decided else None,
        remark=decided,
        reason="; ".join(judged.messages) or "the result fails the test of convergence",
        lowest=_at_least(judged.minimum, judged.submission),
        submission=judged.submission,
    )
    yield replace(finding, caused_by=_missing_size(result) if judged.fault == "mixed" else "")


def _missing_size(result: Result) -> str:
    """The id of the finding about a run without a batch size; empty if every run has one."""
    runs = (run for run in result.runs if run.facts.run.batch_size is None)
    return next((run.fault for run in runs), "")


def _at_least(lowest: float | None, submission: float | None) -> str:
    if lowest is None:
        return ""
    return f"at least {distinct(lowest, lowest if submission is None else submission)[0]}"


def _decided(result: Result) -> str:
    """The committee's decision on a result that fails the test; empty if there is none.

    Training rules, RCPs: such a result is rejected unless the committee decides to normalize it, or
    grants it in its review.
    """
    if result.quirks.ignores_policy:
        return ""
    judged, factor = result.convergence, result.score.factor
    grant = granted_in(result.rules, result.place.submitter, result.place.benchmark)
    if grant is not None and (judged.verdict == "missing" or _nearly_passes(judged)):
        return f"; granted in review: {grant.evidence}"
    if factor.committee is None:
        return ""
    published = result.rules.published and factor.committee > 1 + MARGIN
    if published and _nearly_passes(judged):
        return (
            f"; granted in review: the result was published with the factor {factor.committee:.6g} "
            f"in {SCALING_FILE}"
        )
    ratio = normalising(judged)
    if ratio is None:
        return ""
    too_soon = (judged.margin or 0) < 0
    if not too_soon or abs(factor.committee - ratio) > MARGIN:
        return ""
    return (
        "; scaling.json brings it to the reference's mean with the factor "
        f"{factor.committee:.6g}, which the committee may decide"
    )


def _nearly_passes(judged: Convergence) -> bool:
    """Whether a failing result is near enough to the minimum that a committee may grant it."""
    if judged.submission is None or judged.minimum is None:
        return False
    return judged.submission >= LEAST_GRANTED * judged.minimum
