"""Findings about the score of a result, with the fixes."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from podium.compliance.judging.inputs.listing import Disk
from podium.compliance.judging.results.reference_points import judge_reference_points, judge_scaling
from podium.compliance.judging.results.result import Run
from podium.compliance.judging.waivers.bypass_flags import BYPASSED_RULES, RCP, Params
from podium.compliance.text.words import join_limited, plural
from podium.compliance.tools.scoring.row import ScoredResult
from podium.compliance.tools.scoring.score_rules import (
    ABSURD_CONVERGENCE,
    BROKEN_RUN_COUNTED,
    INVALID,
    MIXED_BATCH_SIZES,
    NEGATIVE_TIME,
    NO_ENERGY,
    NO_TIME,
    TIME_UNIT,
    UNEVEN_SPEED,
)
from podium.rules.checks.time_units import OtherUnit, other_unit, unit_of_short_run
from podium.rules.constraints.formula import show
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.spread import uneven
from podium.rules.finding import Finding, Profile
from podium.rules.fixed.fixed_rule import FixedRule

FAR = 100.0
"""A point of convergence that differs from the others by this factor is implausible."""


def findings_of(scored: ScoredResult) -> list[Finding]:
    """All findings that invalidate the score of a result, or that its readers should know."""
    return [
        *_no_score(scored),
        *_batch_sizes(scored),
        *_absurd(scored),
        *about_times(scored),
        *_convergence(scored),
        *judge_scaling(scored.result),
        *_broken(scored),
        *_spread(scored),
        *_energy(scored),
    ]


def _found(scored: ScoredResult, rule: FixedRule, path: str = "", **fields: Any) -> Finding:
    """A finding about the result, or about the file at `path`."""
    return rule.found(scored.result.profile, path or scored.result.place.display_path, **fields)


def _no_score(scored: ScoredResult) -> Iterator[Finding]:
    throughput = scored.result.throughput
    # Throughput instances have no olympic mean, so its problems do not apply to them
    problems = scored.result.score.problems if throughput is None else throughput.problems
    for problem in problems:
        yield _found(scored, INVALID, problem=problem, fix=_fix(problem, scored))
    # A reported problem already explains a missing mean: without one, the time is the cause
    if (throughput is not None and throughput.time_to_train_all is None) or (
        throughput is None and scored.result.score.minutes is None and not problems
    ):
        yield _found(scored, NO_TIME, key="run_stop")


def _fix(problem: str, scored: ScoredResult) -> str:
    # A problem is a sentence of results/score.py: only its words identify its kind
    if "needs" in problem:
        missing = scored.entry.needed - len(scored.result.chosen)
        return f"add {plural(missing, 'more run')} of {scored.result.place.benchmark}"
    if "failed" in problem or "leave none" in problem:
        return "repeat the set of runs"
    if "pruned" in problem:
        return "move those logs to pruned_results"
    return (
        "use the same scale for all instances, and state the scale of the system in its description"
    )


def _batch_sizes(scored: ScoredResult) -> Iterator[Finding]:
    counted = Counter(run.batch_size for run in scored.result.counted)
    if len(counted) < 2:
        return
    sizes = ", ".join(
        f"{'none' if size is None else f'{size:g}'} in {count}"
        # Each log may have another size: four sizes are enough for the message
        for size, count in counted.most_common(4)
    )
    yield _found(scored, MIXED_BATCH_SIZES, key="global_batch_size", sizes=sizes)


def _absurd(scored: ScoredResult) -> Iterator[Finding]:
    """Runs with an impossible point of convergence: a wrong unit, or a broken counter."""
    converged = [(i, run) for i, run in enumerate(scored.result.counted) if run.converged]
    points = [run.to_converge for _, run in converged if run.to_converge is not None]
    plain = [value for value in points if math.isfinite(value) and value > 0]
    # Infinite and negative counts must not shift the median to which the others are compared
    usual_point = _usual(scored, plain)
    for index, run in converged:
        reason = _absurdity(run, usual_point)
        if reason:
            yield _found(
                scored,
                ABSURD_CONVERGENCE,
                scored.result.runs[index].display_path,
                key="eval_accuracy",
                at=run.to_converge,
                unit=run.unit,
                why=reason,
            )


def _usual(scored: ScoredResult, values: list[float]) -> float | None:
    mean = scored.result.convergence.mean
    if mean is not None:
        return mean
    # With two different runs, neither is the outlier
    return statistics.median(values) if len(values) > 2 else None


def _absurdity(run: RunFacts, usual_point: float | None) -> str:
    point = run.to_converge
    if point is None:
        return ""
    if not math.isfinite(point) or point < 0:
        return "expected a finite, nonnegative number"
    if usual_point and (point > FAR * usual_point or (point > 0 and point < usual_point / FAR)):
        return f"expected about {usual_point:g}"
    return ""


def about_times(scored: ScoredResult) -> Iterator[Finding]:
    """Times that are not milliseconds since 1970, and runs that stop before they start."""
    members = [*zip(scored.result.runs, scored.result.counted, strict=True)]
    yield from _about_unit(scored, members)
    for member, run in members:
        # The official verifier does not compare the two times: such a log passes it
        if run.minutes is not None and run.minutes <= 0:
            yield _found(
                scored,
                NEGATIVE_TIME,
                member.display_path,
                key="run_stop",
                before=-run.minutes,
                minutes=run.minutes,
            )


def _about_unit(scored: ScoredResult, members: Sequence[tuple[Run, RunFacts]]) -> Iterator[Finding]:
    """One finding about runs whose times are in another unit; it names the first of them."""
    problems = [(member, *found) for member, run in members if (found := _other_unit(run))]
    if problems:
        member, problem, time = problems[0]
        yield _found(
            scored,
            TIME_UNIT,
            member.display_path,
            key="time_ms",
            unit=problem.unit,
            given=show(time),
            runs=f"{len(problems)} of {len(members)} runs",
            effect=problem.effect,
        )


def _other_unit(run: RunFacts) -> tuple[OtherUnit, float] | None:
    """The unit of a run's times if it is not milliseconds, and the time that shows it."""
    times = [time for time in (run.start_ms, run.stop_ms) if time is not None]
    short = unit_of_short_run(*times) if len(times) == 2 else None
    problem = other_unit(times) or short
    return None if problem is None else (problem, times[problem.first])


def _convergence(scored: ScoredResult) -> Iterator[Finding]:
    """Failed tests of convergence, as the check reports them."""
    if scored.result.score.minutes is None and not scored.result.weak:
        return  # another finding already reports that the result has no score
    for finding in judge_reference_points(scored.result):
        # Waived, not dropped: the submitter requests it, but the working group decides
        yield replace(
            finding, waived=finding.id.startswith(BYPASSED_RULES[RCP]) and _bypassed(scored)
        )


def _bypassed(scored: ScoredResult) -> bool:
    """Whether the submission requests a waiver of its convergence test."""
    description = scored.result.place.description
    if description is None:
        return False
    root = description.parent.parent
    inside = scored.result.place.folder.absolute().relative_to(root).as_posix()
    return RCP in Params(Disk(root), scored.result.profile, str).flags(inside)


def _broken(scored: ScoredResult) -> Iterator[Finding]:
    # In that profile, such a run already counts as the slowest: see Result.counted
    if scored.result.profile is Profile.VERIFIER:
        return
    runs = scored.result.runs
    # A run that did not converge may be dropped, whatever other rules its log violates
    broken = [run.name for run in runs if run.failed and run.facts.run.converged]
    if broken:
        yield _found(
            scored,
            BROKEN_RUN_COUNTED,
            broken=len(broken),
            runs=len(runs),
            names=join_limited(broken, 6),
        )


def _spread(scored: ScoredResult) -> Iterator[Finding]:
    result = scored.result
    outliers = [] if result.throughput is not None else uneven(result.chosen)
    # Times differ because convergence differs: only a different speed makes a run an outlier
    if outliers:
        differences = [f"{name.rpartition('/')[2]} by {share:+.0%}" for name, share in outliers]
        yield _found(scored, UNEVEN_SPEED, far=join_limited(differences, 6))


def _energy(scored: ScoredResult) -> Iterator[Finding]:
    measured = scored.result.power or any(joules is not None for joules in scored.result.energies)
    if measured and scored.entry.energy_joules is None:
        yield _found(scored, NO_ENERGY, f"{scored.result.place.display_path}/power")
