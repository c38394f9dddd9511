"""Evaluation intervals that the batch does not divide: rounded up to whole batches, not down."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from podium.logging_spec import keys as k
from podium.rules.checks import Context, check
from podium.rules.checks.evaluation import CITES, CLOSED, points_of
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.watch import on
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity
from podium.rules.run import Run
from podium.rules.table import Violation


@check(
    "evaluation.rounded-down",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="an evaluation interval that the batch does not divide is rounded up, not down",
    cites=CITES,
    divisions=CLOSED,
    severity=Severity.NOTE,
    bad=excerpt(
        at(0, "submission_benchmark", "llama31_8b"),
        at(0, "global_batch_size", 1000),
        at(5, "eval_accuracy", 3.5, samples_count=12_000),
        at(6, "eval_accuracy", 3.4, samples_count=24_000),
        at(7, "eval_accuracy", 3.2, samples_count=36_000),
    ),
    good=excerpt(
        at(0, "submission_benchmark", "llama31_8b"),
        at(0, "global_batch_size", 1000),
        at(5, "eval_accuracy", 3.5, samples_count=13_000),
        at(6, "eval_accuracy", 3.4, samples_count=26_000),
        at(7, "eval_accuracy", 3.2, samples_count=39_000),
    ),
    watches=(on("run_stop"),),
)
def rounded_down(run: Run, context: Context) -> Iterator[Violation]:
    """The rules require CEIL(interval / batch) * batch.

    The schedule check allows a deviation of one batch and therefore accepts an interval that is
    rounded down.
    """
    schedule, batch = context.schedule, run.number(k.GLOBAL_BATCH_SIZE.name)
    if schedule is None or batch is None or batch <= 0:
        return
    points, indices = points_of(run, schedule, batch)
    gaps = {next_point - point for point, next_point in pairwise(points)}
    if len(gaps) != 1:
        return
    gap, dues = gaps.pop(), [due for due in schedule.due(batch) if due.unit == "samples"]
    due = next((due for due in dues if gap == due.interval - batch), None)
    if due is not None and all(other.interval != gap for other in dues):
        yield Violation(
            indices[0],
            f"evaluations come every {show(gap)} samples, rounded down to whole batches; must be "
            f"every {show(due.interval)} samples",
            f"{show(due.interval)} samples",
            gap,
            f"evaluate every {show(due.interval)} samples",
        )


CHECKS = (rounded_down,)
