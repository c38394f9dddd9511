"""Units of positions: epochs count from 1 since round 0.7; samples are not steps."""

from __future__ import annotations

import math
from collections.abc import Iterator

from podium.logging_spec import keys as k
from podium.rules.checks import Context, check
from podium.rules.checks.evaluation import CITES as EVALUATED
from podium.rules.checks.evaluation import points_of
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import OUTCOMES, TRAINING, marks_of, outcome_key, position
from podium.rules.checks.watch import on, once
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity
from podium.rules.model.schedule import UNIT_SLIP
from podium.rules.run import Run
from podium.rules.table import Violation

CITES = TRAINING + "Epoch numbering"
CLOSED = ("closed",)


@check(
    "evaluation.epoch-numbering",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="epochs are numbered from 1, so the first evaluation after a whole epoch is at 1",
    cites=CITES,
    divisions=CLOSED,
    bad=excerpt(
        at(0, "submission_benchmark", "retinanet"),
        at(5, "eval_accuracy", 0.2, epoch_num=0),
        at(10, "eval_accuracy", 0.3, epoch_num=1),
    ),
    good=excerpt(
        at(0, "submission_benchmark", "retinanet"),
        at(5, "eval_accuracy", 0.2, epoch_num=1),
        at(10, "eval_accuracy", 0.3, epoch_num=2),
    ),
    watches=(on(*OUTCOMES, when=once),),
)
def epoch_numbering(run: Run, context: Context) -> Iterator[Violation]:
    """A run whose epochs count from 0 appears to converge one epoch earlier than its reference."""
    if _counts_epochs(context):
        yield from _from_zero(run, outcome_key(run))


def _counts_epochs(context: Context) -> bool:
    """Whether the benchmark evaluates after every epoch, in a round that counts them from 1."""
    schedule = context.schedule
    if schedule is None or context.limits.epochs_from != 1:
        return False
    grid = schedule.grids[0]
    # Elsewhere a first position of 0 is an evaluation before training, or DLRM-DCNv2's fraction,
    # which starts at 0 according to the policy
    return grid.unit == "epochs" and grid.interval.text == "1" and grid.first is not None


def _from_zero(run: Run, key: str) -> Iterator[Violation]:
    for index in run.where.get(key, ())[:1]:
        epoch = position(run.records[index], ("epoch_num",))
        if epoch is not None and epoch[1] == 0:
            yield Violation(
                index,
                f"epoch_num of the first {key} is 0; must be 1",
                "1",
                0,
                "number epochs from 1",
            )


@check(
    "epoch.numbered-from-zero",
    follows=OF_REPEATED_RECORDS,
    key="epoch_start",
    says="epoch_start numbers epochs from 1",
    cites=CITES,
    severity=Severity.NOTE,
    divisions=CLOSED,
    bad=excerpt(
        at(0, "submission_benchmark", "retinanet"),
        at(1, "epoch_start", epoch_num=0),
        at(5, "epoch_start", epoch_num=1),
    ),
    good=excerpt(
        at(0, "submission_benchmark", "retinanet"),
        at(1, "epoch_start", epoch_num=1),
        at(5, "epoch_start", epoch_num=2),
    ),
    watches=(on("epoch_start", when=once),),
)
def epoch_from_zero(run: Run, context: Context) -> Iterator[Violation]:
    """Only evaluations are compared with reference runs, so this number changes no result."""
    if _counts_epochs(context):
        yield from _from_zero(run, "epoch_start")


LEAST_STEPS = 2
"""Number of evaluations whose distances show the unit."""


def _steps(batch: int, *positions: float) -> str:
    return excerpt(
        at(0, "submission_benchmark", "llama2_70b_lora"),
        at(0, "global_batch_size", batch),
        *(at(5, "eval_accuracy", 0.94, samples_count=position) for position in positions),
    )


@check(
    "evaluation.counts-steps",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="samples_count counts samples, not steps",
    cites=EVALUATED,
    divisions=("closed",),
    severity=Severity.ERROR,
    bad=_steps(16, 120, 144, 168),
    good=_steps(16, 1920, 2304, 2688),
)
def counts_steps(run: Run, context: Context) -> Iterator[Violation]:
    """A run that counts steps appears to converge in a fraction of its samples.

    The check reports a run if its positions match the schedule of the benchmark only after they are
    multiplied by the global batch size.
    """
    schedule, batch = context.schedule, run.number(k.GLOBAL_BATCH_SIZE.name)
    if schedule is None or schedule.unit != "samples" or batch is None or batch <= 1:
        return
    marks = marks_of(run, outcome_key(run), schedule.positions)
    points, indices = points_of(run, schedule, batch)
    if marks is None or marks.unit != "samples_count" or len(points) < LEAST_STEPS:
        return
    dues = schedule.due(batch)
    if not dues:
        return
    # No schedule covers positions below this one
    minimum = UNIT_SLIP * dues[0].interval
    in_samples = [point * batch for point in points]
    if not minimum <= in_samples[-1] < math.inf or not schedule.fits(in_samples, batch):
        return
    if points[-1] >= minimum and schedule.fits(points, batch):
        return
    yield Violation(
        indices[0],
        f"samples_count seems to count steps: the first evaluation is at {show(points[0])}, and "
        f"every position is 1/{show(batch)} of the scheduled one, while global_batch_size is "
        f"{show(batch)}; must count samples",
        "samples",
        points[0],
        "log samples_count in samples: multiply the steps by the global batch size",
    )


CHECKS = (counts_steps, epoch_numbering, epoch_from_zero)
