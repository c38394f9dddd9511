"""Epochs are numbered from 1 since 0.7."""

from __future__ import annotations

from collections.abc import Iterator

from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import OUTCOMES, TRAINING, outcome_key, position
from podium.rules.checks.watch import on, once
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.finding import Severity
from podium.rules.run import Run
from podium.rules.table import Violation

CITES = TRAINING + "Epoch numbering"
CLOSED = ("closed",)


@check(
    "evaluation.epoch-numbering",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="epochs are numbered from 1, so the first evaluation of whole epochs is at 1",
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
    """A run whose epochs count from 0 seems to converge one epoch sooner than its reference."""
    if _counts_epochs(context):
        yield from _from_zero(run, outcome_key(run))


def _counts_epochs(context: Context) -> bool:
    """Whether the benchmark evaluates after every epoch, in a round that counts them from 1."""
    schedule = context.schedule
    if schedule is None or context.limits.epochs_from != 1:
        return False
    grid = schedule.grids[0]
    # Elsewhere a first position of 0 is an evaluation before training, or DLRM-DCNv2's fraction,
    # which counts from 0 by the policy
    return grid.unit == "epochs" and grid.interval.text == "1" and grid.first is not None


def _from_zero(run: Run, key: str) -> Iterator[Violation]:
    for index in run.where.get(key, ())[:1]:
        found = position(run.records[index], ("epoch_num",))
        if found is not None and found[1] == 0:
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
    """Only evaluations are compared with reference runs, so this number by itself harms nobody."""
    if _counts_epochs(context):
        yield from _from_zero(run, "epoch_start")


CHECKS = (epoch_numbering, epoch_from_zero)
