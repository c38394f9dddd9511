"""Training never moves back: no record has an earlier position than a record before it."""

from __future__ import annotations

from collections.abc import Iterator
from operator import le

from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context, Watch, Worth, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.pace import Progress
from podium.rules.checks.pairing import BLOCK, CITES
from podium.rules.checks.points import (
    OUTCOMES,
    POSITIONS,
    Marks,
    marks_of,
    outcome_key,
)
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import StatedBy
from podium.rules.run import Run
from podium.rules.table import Violation


def _overlaps(run: Run, marks: Marks, pair: list[tuple[int, float]]) -> bool:
    """Whether the second of two evaluations began before the outcome of the first was known."""
    if run.records[marks.places[0]].key not in OUTCOMES:
        return False
    starts = marks_of(run, "eval_start", (marks.unit,))
    (outcome, _), (index, point) = pair
    # Only its first outcome ends an evaluation
    if starts is None or marks.first_at()[point] != index:
        return False
    start = starts.first_at().get(point)
    return start is not None and run.records[start].time_ms < run.records[outcome].time_ms


def _goes_back(_: Context) -> Worth:
    return Progress(POSITIONS).goes_back


def _block_goes_back(_: Context) -> Worth:
    progress = Progress(BLOCK)

    def worth(run: Run, record: Record) -> bool:
        # If the first block gives its length, so do the others
        return progress.goes_back(run, record) and _block_marks(run) is not None

    return worth


def _block_marks(run: Run) -> Marks | None:
    """Training positions of the blocks; None if the blocks give their lengths instead.

    MLPerf Common logs the number of samples in a block as its samples_count. Other programs log the
    number of samples trained before it, which starts at 0.
    """
    marks = marks_of(run, "block_start", BLOCK)
    lengths = marks is not None and marks.unit == "samples_count" and marks.values[:1] != [0]
    return None if lengths else marks


@check(
    "progress.not-monotonic",
    follows=OF_REPEATED_RECORDS,
    says="training positions never decrease over time",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    bad=excerpt(
        at(2, "eval_accuracy", 3.4, samples_count=24_576),
        at(4, "eval_accuracy", 3.2, samples_count=12_288),
    ),
    good=excerpt(
        at(2, "eval_accuracy", 3.4, samples_count=12_288),
        at(4, "eval_accuracy", 3.2, samples_count=24_576),
    ),
    by_benchmark=True,
    watches=(
        *(Watch((key,), _goes_back) for key in (*OUTCOMES, "epoch_start")),
        Watch(("block_start",), _block_goes_back),
    ),
)
def goes_back(run: Run, context: Context) -> Iterator[Violation]:
    """Training only adds samples, so one of two such records is wrong.

    Lines may be in any order: the check compares their times. Overlapping evaluations may end in
    any order.
    """
    keys = ("block_start", "epoch_start")
    # Checkpoints that are evaluated after the run may be in any order
    for key in keys if context.offline else (*keys, outcome_key(run)):
        marks = _block_marks(run) if key == "block_start" else marks_of(run, key)
        if marks is None:
            continue
        records = run.records
        # Outcomes in the order of their positions may still have times out of order
        if marks.values == marks.ranked:
            times = [records[index].time_ms for index in marks.places if key in OUTCOMES]
            if all(map(le, times, times[1:])):
                continue
        timeline = sorted(
            zip(marks.places, marks.values, strict=True),
            key=lambda entry: records[entry[0]].time_ms,
        )
        backward = (i for i in range(1, len(timeline)) if timeline[i][1] < timeline[i - 1][1])
        # Evaluations that overlap may end in any order, and are logged in the order they end
        in_order = marks.values == marks.ranked
        fault = next(
            (i for i in backward if in_order or not _overlaps(run, marks, timeline[i - 1 : i + 1])),
            0,
        )
        if fault:
            (_, previous), (index, current) = timeline[fault - 1], timeline[fault]
            yield Violation(
                index,
                f"{marks.unit} of {key} is {show(current)} after {show(previous)}; must not "
                "decrease",
                f"at least {show(previous)}",
                current,
                "count progress from the start of the run, in one unit",
            )


CHECKS = (goes_back,)
