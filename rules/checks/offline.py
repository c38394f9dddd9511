"""Runs whose checkpoints are evaluated afterwards: run_stop belongs to the passing checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from podium.logging_spec import keys as k
from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import (
    TRAINING,
    earliest_passing,
    minutes,
    position,
    status_of,
    target_of,
    where_is,
)
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity
from podium.rules.run import Run, metadata_of
from podium.rules.table import Violation

CITES = TRAINING + "v6.1 Specific Rules"

_GRPO = (at(0, "submission_benchmark", "qwen35_397b_grpo"), at(0, "global_batch_size", 256))


def _stop_and_passing(run: Run, context: Context) -> tuple[int, int] | None:
    """Indices of a successful run_stop and of the passing evaluation; None without both."""
    schedule, target, stop = context.schedule, target_of(context), status_of(run)
    if schedule is None or not schedule.stops_at_checkpoint or target is None:
        return None
    if stop is None or stop[1] != k.SUCCESS:
        return None
    evaluation = earliest_passing(run, target)
    return None if evaluation is None else (stop[0], evaluation)


@check(
    "evaluation.other-checkpoint",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="run_stop belongs to the first checkpoint of the training that reaches the target",
    cites=CITES,
    divisions=("closed",),
    by_benchmark=True,
    bad=excerpt(
        *_GRPO,
        at(9, "eval_accuracy", 0.72, samples_count=4864),
        at(8, "eval_accuracy", 0.7, samples_count=4608),
        at(5, "run_stop", status="success", samples_count=4864),
    ),
    good=excerpt(
        *_GRPO,
        at(9, "eval_accuracy", 0.72, samples_count=4864),
        at(8, "eval_accuracy", 0.7, samples_count=4608),
        at(5, "run_stop", status="success", samples_count=4608),
    ),
)
def other_checkpoint(run: Run, context: Context) -> Iterator[Violation]:
    """The score is the time to train that checkpoint, whatever the order of the evaluations.

    Convergence is compared at this checkpoint, and the time of an earlier one would improve the
    score.
    """
    indices = _stop_and_passing(run, context)
    if indices is None:
        return
    stop, evaluation = indices
    point = position(run.records[evaluation])
    # In the unit of the evaluation: run_stop may state several, or none
    if point is None or point[0] not in metadata_of(run.records[stop]):
        return
    stop_point = position(run.records[stop], point[:1])
    if stop_point is not None and stop_point != point:
        expected = show(point[1])
        yield Violation(
            stop,
            f"{stop_point[0]} of run_stop is {show(stop_point[1])}; must be {expected}, the "
            "position of the first checkpoint that reaches the target",
            expected,
            stop_point[1],
            "log run_stop with the position of that checkpoint and the time at which its weights "
            "were updated",
        )


@check(
    "evaluation.counted-offline",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="if checkpoints are evaluated after the run, run_stop precedes the evaluation",
    cites=CITES,
    # A note: counting the evaluation only makes the submitter's score worse
    severity=Severity.NOTE,
    divisions=("closed",),
    by_benchmark=True,
    bad=excerpt(
        *_GRPO,
        at(7, "eval_start", samples_count=4608),
        at(8, "eval_accuracy", 0.7, samples_count=4608),
        at(9, "run_stop", status="success"),
    ),
    good=excerpt(
        *_GRPO,
        at(7, "eval_start", samples_count=4608),
        at(8, "eval_accuracy", 0.7, samples_count=4608),
        at(5, "run_stop", status="success"),
    ),
)
def counted_offline(run: Run, context: Context) -> Iterator[Violation]:
    """The clock stops at the last update of the weights of the passing checkpoint.

    Writing and evaluating the checkpoint is not timed, so run_stop has an earlier time than
    eval_start.
    """
    indices = _stop_and_passing(run, context)
    if indices is None:
        return
    stop, evaluation = indices
    point = position(run.records[evaluation])
    starts = [
        run.records[index].time_ms
        for index in run.where.get("eval_start", ())
        if position(run.records[index]) == point
    ]
    # Without eval_start, run_stop must not come after the outcome itself
    start = min(starts, default=run.records[evaluation].time_ms)
    delay = run.records[stop].time_ms - start
    if delay > 0:
        yield Violation(
            stop,
            f"run_stop is {minutes(delay)} after the start of the evaluation at "
            f"{where_is(point)}; must be the time at which the weights of that checkpoint were "
            "last updated",
            "before eval_start",
            delay,
            "set time_ms of run_stop to the time at which the weights of that checkpoint were "
            "last updated",
        )


CHECKS = (
    other_checkpoint,
    counted_offline,
)
