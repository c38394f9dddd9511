"""Evaluations: on the benchmark's schedule, and none after the one that reaches the target."""

from __future__ import annotations

from collections.abc import Iterator
from operator import lt

from podium.logging_spec import keys as k
from podium.rules.checks import Context, Watch, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.pace import Grids
from podium.rules.checks.points import (
    OUTCOMES,
    TRAINING,
    evaluations,
    evaluations_before,
    first_passing,
    marks_of,
    minutes,
    outcome_key,
    position,
    status_of,
    target_of,
    where_is,
)
from podium.rules.checks.watch import on, stopped
from podium.rules.consequences import OF_REPEATED_RECORDS, Follows
from podium.rules.constraints.formula import show
from podium.rules.finding import Finding, Severity
from podium.rules.model.schedule import Miss, Schedule
from podium.rules.run import Run
from podium.rules.table import Violation

CITES = TRAINING + "Quality measure"
CLOSED = ("closed",)

RACE_MS = 100.0
"""Milliseconds by which two processes that log the same moment may differ."""

MOST_LATER = 1
"""Evaluations after the target that are allowed where evaluation overlaps training."""


def points_of(run: Run, schedule: Schedule, batch: float) -> tuple[list[float], list[int]]:
    """Training positions of the evaluations, ascending, and the first record of each."""
    key, scale = outcome_key(run), 1.0
    marks = marks_of(run, key, schedule.positions)
    if marks is None and schedule.unit == "samples":
        # Stable Diffusion counts its checkpoints in steps in 3.1, in samples from 4.0 on
        marks, scale = marks_of(run, key, ("step_num",)), batch
    if marks is None:
        return [], []
    values = marks.values
    if scale == 1.0 and values[0] > 0 and all(map(lt, values, values[1:])):
        return values, marks.places  # true of nearly every log
    # Ranks repeat an outcome and overlapping evaluations report out of order: each position counts
    # once. Nothing is trained at position 0, so an evaluation there is not part of the schedule.
    first_at = marks.first_at()
    points = [point for point in sorted(first_at) if point > 0]
    return [point * scale for point in points], [first_at[point] for point in points]


def _of_the_batch_size(cause: Finding, _: Finding) -> bool:
    return cause.key == k.GLOBAL_BATCH_SIZE.name


@check(
    "evaluation.off-schedule",
    follows=(
        *OF_REPEATED_RECORDS,
        Follows("pairing.evaluation-without-outcome"),
        Follows("evaluation.counts-steps"),
        Follows("result.mixed-settings", when=_of_the_batch_size),
    ),
    key="eval_accuracy",
    says="a closed run evaluates first at the position, and then at the interval, that the "
    "policy sets",
    cites=CITES,
    divisions=CLOSED,
    bad=excerpt(
        at(0, "submission_benchmark", "llama2_70b_lora"),
        at(0, "global_batch_size", 16),
        at(5, "eval_accuracy", 0.94, samples_count=1536),
        at(6, "eval_accuracy", 0.93, samples_count=2304),
        at(7, "eval_accuracy", 0.92, samples_count=3072),
    ),
    good=excerpt(
        at(0, "submission_benchmark", "llama2_70b_lora"),
        at(0, "global_batch_size", 16),
        at(5, "eval_accuracy", 0.94, samples_count=1920),
        at(6, "eval_accuracy", 0.93, samples_count=2304),
        at(7, "eval_accuracy", 0.92, samples_count=2688),
    ),
    watches=(
        on("global_batch_size"),
        Watch(OUTCOMES, begin=lambda context: Grids(context).leaves),
    ),
)
def off_schedule(run: Run, context: Context) -> Iterator[Violation]:
    """Fewer evaluations take less time on the clock; more evaluations stop the clock earlier.

    In both cases the run is compared with reference runs that have another schedule. A position may
    be rounded up to the next whole batch. Some benchmarks skip the evaluations that cannot reach
    the target. No other evaluation may be skipped.
    """
    for index, miss in _misses(run, context):
        yield Violation(index, miss.message, miss.expected, miss.actual, miss.hint)


def leaves_out(run: Run, context: Context) -> bool:
    """Whether an evaluation is later than scheduled, so that an earlier one is missing."""
    return any(miss.late for _, miss in _misses(run, context))


def _misses(run: Run, context: Context) -> Iterator[tuple[int, Miss]]:
    """The deviations from the schedule, each with the index of its record."""
    schedule = context.schedule
    if schedule is None:
        return
    batch = run.number(k.GLOBAL_BATCH_SIZE.name)
    if batch is None or batch <= 0:
        # Schedules in epochs apply to any batch size; the others depend on it
        if any(grid.interval.needs for grid in schedule.grids):
            return
        batch = 1.0
    points, indices = points_of(run, schedule, batch)
    for miss in schedule.judge(points, batch):
        yield indices[miss.index], miss


_TARGET = at(0, "submission_benchmark", "llama31_8b")


@check(
    "evaluation.after-target",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="a run ends with the first evaluation that reaches the target",
    cites=CITES,
    divisions=CLOSED,
    bad=excerpt(
        _TARGET,
        at(5, "eval_accuracy", 3.2, samples_count=12_288),
        at(10, "eval_accuracy", 3.4, samples_count=24_576),
        at(11, "run_stop", status="success"),
    ),
    good=excerpt(
        _TARGET,
        at(5, "eval_accuracy", 3.2, samples_count=12_288),
        at(6, "run_stop", status="success"),
    ),
    watches=(on("run_stop"),),
)
def after_target(run: Run, context: Context) -> Iterator[Violation]:
    """Convergence is compared with reference runs at the evaluation that ends the run.

    A run that continues appears to need more training than it did, or ends with a quality that
    misses the target.
    """
    target, stops = target_of(context), run.where.get("run_stop")
    # Checkpoints evaluated after the run are in any order, so "after the target" has no meaning
    if target is None or not stops or context.offline:
        return
    records = run.records
    # Published CosmoFlow logs continue for a hundred epochs after run_stop; those are ignored
    indices = evaluations_before(run, stops[0])
    passing = first_passing(run, target, indices)
    if passing is None or passing == indices[-1]:
        return
    point, last = position(records[passing]), records[indices[-1]]
    # Positions are counted, not records, as every rank may log the same evaluation
    later_points = {
        other for i in indices if i > passing and (other := position(records[i])) != point
    }
    hint = "stop the run at the first evaluation that reaches the target"
    if later_points and not target.reached(run, indices[-1]):
        yield Violation(
            stops[0],
            f"the last quality before run_stop is {show(last.value)}, although {where_is(point)} "
            "reached the target; must be the quality that ended the run",
            target.some[0].expected(run),
            last.value,
            hint,
        )
    elif len(later_points) > MOST_LATER:
        yield Violation(
            stops[0],
            f"run_stop is {len(later_points)} evaluations after the target was reached at "
            f"{where_is(point)}; must follow that evaluation",
            "no evaluation after the target",
            len(later_points),
            hint,
        )


@check(
    "evaluation.stop-before-target",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="a run does not stop before an evaluation has reached the target",
    cites=CITES,
    divisions=CLOSED,
    severity=Severity.ERROR,
    bad=excerpt(
        _TARGET,
        at(5, "run_stop", status="success"),
        at(6, "eval_accuracy", 3.2, samples_count=12_288),
    ),
    good=excerpt(
        _TARGET,
        at(5, "eval_accuracy", 3.2, samples_count=12_288),
        at(6, "run_stop", status="success"),
    ),
    watches=(on("run_stop", *OUTCOMES, when=stopped),),
)
def stop_before_target(run: Run, context: Context) -> Iterator[Violation]:
    """Evaluation is on the clock, which stops when the target is known to be reached.

    Benchmarks whose checkpoints are evaluated after the run are exempt. A difference of a few
    milliseconds is allowed, because run_stop and the outcome may come from two processes.
    """
    target, stop = target_of(context), status_of(run)
    if target is None or stop is None or stop[1] != k.SUCCESS or context.offline:
        return
    records, indices = run.records, evaluations(run)
    # By time and not by line: asynchronous evaluations are logged late
    stop_ms = records[stop[0]].time_ms
    if max([records[index].time_ms for index in indices], default=stop_ms) <= stop_ms + RACE_MS:
        return
    passing = first_passing(run, target, indices)
    lead_ms = 0.0 if passing is None else records[passing].time_ms - stop_ms
    if lead_ms > RACE_MS:
        yield Violation(
            stop[0],
            f"run_stop is {minutes(lead_ms)} before the first evaluation that reaches the target; "
            "must be after it",
            "after the evaluation that reaches the target",
            -lead_ms,
            "log run_stop once the evaluation has shown that the target is reached",
        )


@check(
    "evaluation.before-run",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="no evaluation comes before run_start",
    cites=CITES,
    bad=excerpt(
        at(0, "eval_accuracy", 3.2, samples_count=24_576),
        at(44, "run_start"),
        at(60, "run_stop", status="success"),
    ),
    good=excerpt(
        at(0, "run_start"),
        at(59, "eval_accuracy", 3.2, samples_count=24_576),
        at(60, "run_stop", status="success"),
    ),
    by_benchmark=True,
    watches=(on("run_start", "run_stop", *OUTCOMES, when=stopped),),
)
def before_run(run: Run, context: Context) -> Iterator[Violation]:
    """A model that is evaluated before the clock starts was also trained before it."""
    yield from _untimed(run, context, early=True)


@check(
    "evaluation.untimed",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="no evaluation comes after run_stop",
    cites=CITES,
    # A note, because accepted HPC logs continue to evaluate after run_stop
    severity=Severity.NOTE,
    bad=excerpt(
        at(0, "run_start"),
        at(60, "run_stop", status="success"),
        at(70, "eval_accuracy", 3.2, samples_count=24_576),
    ),
    good=excerpt(
        at(0, "run_start"),
        at(59, "eval_accuracy", 3.2, samples_count=24_576),
        at(60, "run_stop", status="success"),
    ),
    by_benchmark=True,
    watches=(on("run_start", "run_stop", *OUTCOMES, when=stopped),),
)
def untimed(run: Run, context: Context) -> Iterator[Violation]:
    """Evaluation is on the clock unless the benchmark evaluates checkpoints after the run."""
    yield from _untimed(run, context, early=False)


def _untimed(run: Run, context: Context, *, early: bool) -> Iterator[Violation]:
    start, stop = run.first("run_start"), run.first("run_stop")
    # If run_stop is not after run_start nothing is between them; another check reports that
    if start is None or stop is None or context.offline or stop.time_ms <= start.time_ms:
        return
    records, indices = run.records, evaluations(run)
    marker, side = (start, "before") if early else (stop, "after")
    if early:
        strays = [index for index in indices if records[index].time_ms < start.time_ms]
    else:
        strays = [index for index in indices if records[index].time_ms > stop.time_ms]
    if strays:
        distance = abs(records[strays[0]].time_ms - marker.time_ms)
        yield Violation(
            strays[0],
            f"{outcome_key(run)} is {minutes(distance)} {side} {marker.key} ({len(strays)} of "
            f"{len(indices)} evaluations {'is' if len(strays) == 1 else 'are'}); must be between "
            "run_start and run_stop",
            "between run_start and run_stop",
            len(strays),
            "evaluate while the clock runs",
        )


CHECKS = (
    off_schedule,
    after_target,
    stop_before_target,
    before_run,
    untimed,
)
