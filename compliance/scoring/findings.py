"""What is wrong with a result's score, and what to do about it."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from podium.compliance.results.judge import judge_reference_points
from podium.compliance.scoring.result import ScoredResult
from podium.rules.convergence.facts import RunFacts
from podium.rules.finding import Finding, Profile, Severity, StatedBy

CITES = "training rules, Benchmark Results and Scoring"
RCP_CITES = "training rules, RCPs"

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


def _at(
    working: ScoredResult,
    rule: str,
    severity: Severity,
    message: str,
    hint: str,
    *,
    path: str | None = None,
    key: str | None = None,
    cites: str = CITES,
    expected: str = "",
    actual: object = None,
    stated_by: StatedBy = StatedBy.POLICY,
) -> Finding:
    where = working.result.place.display_path if path is None else path
    return Finding(
        rule, severity, where, None, key, message, expected, actual, hint, cites, stated_by
    )


def _no_score(working: ScoredResult) -> Iterator[Finding]:
    throughput = working.result.throughput
    problems = working.result.score.problems if throughput is None else throughput.problems
    for problem in problems:
        yield _at(
            working,
            "score.invalid",
            Severity.ERROR,
            problem,
            _mend(problem, working),
            cites=CITES if throughput is None else "HPC rules, throughput",
        )
    if (throughput is not None and throughput.time_to_train_all is None) or (
        throughput is None and working.result.score.minutes is None and not problems
    ):
        yield _untimed(working)


def _untimed(working: ScoredResult) -> Finding:
    message = "no run has a time: run_start or run_stop is missing"
    hint = "log run_start and run_stop in every run"
    return _at(working, "score.no-time", Severity.ERROR, message, hint, key="run_stop")


def _mend(problem: str, working: ScoredResult) -> str:
    if "needs" in problem:
        missing = working.entry.needed - len(working.result.counted)
        return f"add {missing} more runs of {working.result.place.benchmark}"
    if "failed" in problem or "leave none" in problem:
        return "repeat the set of runs; see --explain for what each run lacks"
    if "pruned" in problem:
        return "move those logs to pruned_results"
    return "give every instance the same scale, and state the system's in its description"


def _batch_sizes(working: ScoredResult) -> Iterator[Finding]:
    sizes = Counter(run.batch_size for run in working.result.counted)
    if len(sizes) < 2:
        return
    told = ", ".join(
        f"{'none' if size is None else f'{size:g}'} in {count}"
        for size, count in sizes.most_common(4)
    )
    yield _at(
        working,
        "score.mixed-batch-sizes",
        Severity.ERROR,
        f"the runs are of several global batch sizes ({told}); all must have the same",
        "repeat the runs that differ with the batch size of the others",
        key="global_batch_size",
        cites=RCP_CITES,
    )


def _absurd(working: ScoredResult) -> Iterator[Finding]:
    """Runs whose point of convergence cannot be: a slip in the unit, or a broken counter."""
    converged = [(i, run) for i, run in enumerate(working.result.counted) if run.converged]
    given = [run.to_converge for _, run in converged if run.to_converge is not None]
    plain = [value for value in given if math.isfinite(value) and value > 0]
    usual = _usual(working, plain)
    for index, run in converged:
        why = _strange(run, usual)
        if why:
            yield _at(
                working,
                "score.absurd-convergence",
                Severity.ERROR,
                f"the run says that it converged after {run.to_converge:g} {run.unit}: {why}",
                f"log the {run.unit} trained so far with every evaluation",
                path=working.result.runs[index].display_path,
                key="eval_accuracy",
                cites=RCP_CITES,
                actual=run.to_converge,
            )


def _usual(working: ScoredResult, values: list[float]) -> float | None:
    convergence = working.result.convergence
    if convergence is not None and convergence.mean is not None:
        return convergence.mean
    return statistics.median(values) if len(values) > 2 else None


def _strange(run: RunFacts, usual: float | None) -> str:
    at = run.to_converge
    if at is None:
        return ""
    if not math.isfinite(at) or at < 0:
        return "that is no count"
    if usual and (at > FAR * usual or (at > 0 and at < usual / FAR)):
        return f"{usual:g} is usual"
    return ""


def _times(working: ScoredResult) -> Iterator[Finding]:
    for member, run in zip(working.result.runs, working.result.counted, strict=True):
        if run.minutes is not None and run.minutes <= 0:
            yield _at(
                working,
                "score.negative-time",
                Severity.ERROR,
                f"run_stop is {-run.minutes:g} minutes before run_start",
                "log both from one clock, in milliseconds since 1970",
                path=member.display_path,
                key="run_stop",
                actual=run.minutes,
            )


def _convergence(working: ScoredResult) -> Iterator[Finding]:
    """Failed tests of convergence, as the check reports them."""
    if working.result.score.minutes is None and not working.result.weak:
        return  # that the result has no score is said already
    for found in judge_reference_points(working.result):
        yield replace(found, waived=_bypassed(working))


def _bypassed(working: ScoredResult) -> bool:
    """Whether the submission asks that its convergence be let through."""
    description = working.result.place.description
    if description is None:
        return False
    from podium.compliance.waivers.bypass_flags import RCP, Params

    root = description.parent.parent
    inside = working.result.place.folder.absolute().relative_to(root).as_posix()
    return RCP in Params(root, working.result.profile, str).flags(inside)


def _factor(working: ScoredResult) -> Iterator[Finding]:
    note = working.result.score.factor.note
    if note and working.result.throughput is None:
        yield _at(
            working,
            "score.factor-differs",
            Severity.WARNING,
            note,
            "the factor of scaling.json is used where it is one; remove the file to use the other",
            path=f"{working.result.place.display_path}/scaling.json",
            key="scaling_factor",
            cites="training rules, Score scaling",
        )


def _broken(working: ScoredResult) -> Iterator[Finding]:
    if working.result.profile is Profile.VERIFIER:
        return
    runs = working.result.runs
    broken = [run.name for run in runs if run.failed and run.facts.run.converged]
    if broken:
        yield _at(
            working,
            "score.broken-run-counted",
            Severity.WARNING,
            f"{len(broken)} of {len(runs)} runs converged and are scored, though their "
            f"logs break rules: {_few(broken)}",
            "see `podium check`; the official summary counts such a run as the slowest",
        )


def _spread(working: ScoredResult) -> Iterator[Finding]:
    spread = working.result.spread
    if spread is None or working.result.throughput is not None:
        return
    names = [name.rpartition("/")[2] for name in spread.outliers]
    far = f"; far from the others: {_few(names)}" if names else ""
    if spread.relative > 2 * spread.usual or far:
        yield _at(
            working,
            "score.wide-spread",
            Severity.NOTE,
            f"the runs' times deviate by {spread.relative:.1%} of their mean; "
            f"{spread.usual:.1%} is usual{far}",
            "look for pauses or slow nodes; far outliers may be asked about in review",
        )


def _energy(working: ScoredResult) -> Iterator[Finding]:
    told = working.result.power or any(one is not None for one in working.result.energies)
    if told and working.entry.energy_joules is None:
        yield _at(
            working,
            "score.no-energy",
            Severity.WARNING,
            "there are power logs, and the energy of a scored run cannot be told from them",
            "see what `podium check` finds in the files there",
            path=f"{working.result.place.display_path}/power",
            cites="power measurement rules",
        )


def _few(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
