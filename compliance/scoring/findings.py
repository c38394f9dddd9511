"""What is wrong with a result's score, and what to do about it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from podium.compliance.results.model import join_limited
from podium.compliance.scoring.result import ScoredResult
from podium.compliance.scoring.rules import (
    ABSURD_CONVERGENCE,
    BROKEN_RUN_COUNTED,
    FACTOR_DIFFERS,
    INVALID,
    MIXED_BATCH_SIZES,
    NEGATIVE_TIME,
    NO_ENERGY,
    NO_TIME,
    WIDE_SPREAD,
)
from podium.rules.convergence.facts import RunFacts
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed_rule import FixedRule

FAR = 100.0
"""A run that converges this many times sooner or later than the others is not believed."""


def findings_of(working: ScoredResult) -> list[Finding]:
    """Everything that keeps a result from a valid score, or that a reader of it should know."""
    return [
        *_no_score(working),
        *_batch_sizes(working),
        *_absurd(working),
        *_times(working),
        *_convergence(working),
        *_factor(working),
        *_broken(working),
        *_spread(working),
        *_energy(working),
    ]


def _found(working: ScoredResult, rule: FixedRule, path: str = "", **fields: Any) -> Finding:
    """A finding about the result, or about the file of it that the path names."""
    return rule.found(working.profile, path or working.place.display_path, **fields)


def _no_score(working: ScoredResult) -> Iterator[Finding]:
    throughput = working.throughput
    problems = working.score.problems if throughput is None else throughput.problems
    for problem in problems:
        yield _found(working, INVALID, problem=problem, fix=_fix(problem, working))
    if (throughput is not None and throughput.time_to_train_all is None) or (
        throughput is None and working.score.minutes is None and not problems
    ):
        yield _found(working, NO_TIME, key="run_stop")


def _fix(problem: str, working: ScoredResult) -> str:
    if "needs" in problem:
        missing = working.entry.needed - len(working.runs)
        return f"add {missing} more runs of {working.place.benchmark}"
    if "failed" in problem or "leave none" in problem:
        return "repeat the set of runs"
    if "pruned" in problem:
        return "move those logs to pruned_results"
    return "give every instance the same scale, and state the system's in its description"


def _batch_sizes(working: ScoredResult) -> Iterator[Finding]:
    counted = Counter(run.batch_size for run in working.runs)
    if len(counted) < 2:
        return
    sizes = ", ".join(
        f"{'none' if size is None else f'{size:g}'} in {count}"
        for size, count in counted.most_common(4)
    )
    yield _found(working, MIXED_BATCH_SIZES, key="global_batch_size", sizes=sizes)


def _absurd(working: ScoredResult) -> Iterator[Finding]:
    """Runs whose point of convergence cannot be: a slip in the unit, or a broken counter."""
    converged = [(i, run) for i, run in enumerate(working.runs) if run.converged]
    given = [run.to_converge for _, run in converged if run.to_converge is not None]
    plain = [value for value in given if math.isfinite(value) and value > 0]
    usual = _usual(working, plain)
    for index, run in converged:
        why = _absurdity(run, usual)
        if why:
            yield _found(
                working,
                ABSURD_CONVERGENCE,
                working.members[index].display_path,
                key="eval_accuracy",
                at=run.to_converge,
                unit=run.unit,
                why=why,
            )


def _usual(working: ScoredResult, values: list[float]) -> float | None:
    convergence = working.convergence
    if convergence is not None and convergence.mean is not None:
        return convergence.mean
    return statistics.median(values) if len(values) > 2 else None


def _absurdity(run: RunFacts, usual: float | None) -> str:
    at = run.to_converge
    if at is None:
        return ""
    if not math.isfinite(at) or at < 0:
        return "that is not a count"
    if usual and (at > FAR * usual or (at > 0 and at < usual / FAR)):
        return f"{usual:g} is usual"
    return ""


def _times(working: ScoredResult) -> Iterator[Finding]:
    for member, run in zip(working.members, working.runs, strict=True):
        if run.minutes is not None and run.minutes <= 0:
            yield _found(
                working,
                NEGATIVE_TIME,
                member.display_path,
                key="run_stop",
                before=-run.minutes,
                minutes=run.minutes,
            )


def _convergence(working: ScoredResult) -> Iterator[Finding]:
    """Failed tests of convergence: an error where both texts fail the result, as for the check."""
    ours, theirs = working.convergence, working.official
    if ours is None or theirs is None or ours.verdict == "not_applicable":
        return
    if working.score.minutes is None and working.throughput is None:
        return  # that the result has no score is reported already
    judged = ours if ours.verdict != "pass" else theirs
    if judged.verdict == "pass":
        return
    both = ours.verdict != "pass" and theirs.verdict != "pass"
    stated = StatedBy.POLICY if ours.verdict != "pass" else StatedBy.VERIFIER
    error = both or working.profile is Profile.VERIFIER
    found = Finding(
        id="rcp.missing" if judged.verdict == "missing" else "rcp.failed",
        severity=Severity.ERROR if error else Severity.WARNING,
        path=working.place.display_path,
        line=None,
        key=None,
        message="; ".join(judged.messages) or "the result fails the test of convergence",
        expected="" if judged.minimum is None else f"at least {judged.minimum:g}",
        actual=judged.submission,
        hint="see `podium rcp check` for the arithmetic",
        cites="training rules, RCPs",
        stated_by=StatedBy.BOTH if both else stated,
    )
    yield replace(found, waived=_bypassed(working))


def _bypassed(working: ScoredResult) -> bool:
    """Whether the submission asks that its convergence be let through."""
    description = working.place.description
    if description is None:
        return False
    from podium.compliance.waivers.bypass_flags import RCP, Params

    root = description.parent.parent
    inside = working.place.folder.absolute().relative_to(root).as_posix()
    return RCP in Params(root, working.profile, str).flags(inside)


def _factor(working: ScoredResult) -> Iterator[Finding]:
    problem = working.score.factor.note
    if problem and working.throughput is None:
        path = f"{working.place.display_path}/scaling.json"
        yield _found(working, FACTOR_DIFFERS, path, key="scaling_factor", problem=problem)


def _broken(working: ScoredResult) -> Iterator[Finding]:
    if working.profile is Profile.VERIFIER:
        return
    pairs = zip(working.members, working.runs, strict=True)
    broken = [member.path.name for member, run in pairs if member.broken and run.converged]
    if broken:
        yield _found(
            working,
            BROKEN_RUN_COUNTED,
            broken=len(broken),
            runs=len(working.runs),
            names=join_limited(broken, 6),
        )


def _spread(working: ScoredResult) -> Iterator[Finding]:
    spread = working.score.spread
    if spread is None or working.throughput is not None:
        return
    names = [name.rpartition("/")[2] for name in spread.outliers]
    far = f"; far from the others: {join_limited(names, 6)}" if names else ""
    if spread.relative > 2 * spread.usual or far:
        yield _found(working, WIDE_SPREAD, spread=spread.relative, usual=spread.usual, far=far)


def _energy(working: ScoredResult) -> Iterator[Finding]:
    measured = working.power or any(one is not None for one in working.energies)
    if measured and working.entry.energy_joules is None:
        yield _found(working, NO_ENERGY, f"{working.place.display_path}/power")
