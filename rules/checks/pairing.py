"""Intervals that begin must end, and the records of one evaluation must have the same position."""

from __future__ import annotations

from collections.abc import Iterator

from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import (
    Marks,
    evaluations_before,
    marks_of,
    outcome_key,
    position,
    where_is,
)
from podium.rules.checks.watch import on
from podium.rules.citations import LIBRARY
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run, metadata_of
from podium.rules.table import Violation

CITES = f"{LIBRARY}, key"

# By key, not by event_type, which is wrong or missing in over 100 000 published records
INTERVALS = tuple((name, f"{name}_start", f"{name}_stop") for name in ("block", "epoch", "eval"))
"""Each interval, and the keys that end it."""

BLOCK = ("first_epoch_num", "samples_count", "step_num", "epoch_num")


@check(
    "pairing.unclosed-interval",
    follows=OF_REPEATED_RECORDS,
    says="every block, epoch and evaluation that begins also ends; only the last may stay open",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    severity=Severity.NOTE,
    bad=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(3, "eval_start", samples_count=24_576),
        at(5, "eval_start", samples_count=36_864),
        at(6, "eval_stop", samples_count=36_864),
    ),
    good=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_stop", samples_count=12_288),
    ),
)
def left_open(run: Run, _: Context) -> Iterator[Violation]:
    """A reviewer reads from these pairs how the timed part was spent.

    One interval may be open when the run stops. Many accepted logs leave more open.
    """
    for name, start_key, stop_key in INTERVALS:
        starts, stops = run.where.get(start_key, []), run.where.get(stop_key, [])
        if len(starts) - len(stops) > 1:
            yield Violation(
                starts[-1],
                f"{name}_start is logged {len(starts)} times, {name}_stop {len(stops)} times; "
                f"must be paired, except one {name} that run_stop cuts short",
                f"{len(starts) - 1} or {len(starts)} {name}_stop",
                len(stops),
                f"log {name}_stop at the end of each {name}",
            )


@check(
    "pairing.stop-without-start",
    follows=OF_REPEATED_RECORDS,
    says="no block, epoch or evaluation ends more often than it began",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    # A note, like an open interval: accepted logs have both, and neither changes a time
    severity=Severity.NOTE,
    divisions=("closed",),
    bad=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_stop", samples_count=12_288),
        at(4, "eval_stop", samples_count=24_576),
    ),
    good=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_stop", samples_count=12_288),
        at(3, "eval_start", samples_count=24_576),
        at(4, "eval_stop", samples_count=24_576),
    ),
)
def stop_without_start(run: Run, _: Context) -> Iterator[Violation]:
    """An interval without a start cannot be measured."""
    for name, start_key, stop_key in INTERVALS:
        starts, stops = run.where.get(start_key, []), run.where.get(stop_key, [])
        # A log without any start marks only the ends: none of its stops is excessive
        if len(stops) > len(starts) > 0:
            yield Violation(
                stops[len(starts)],
                f"{name}_stop is logged {len(stops)} times; must not be logged more often than "
                f"{name}_start ({len(starts)} times)",
                f"at most {len(starts)}",
                len(stops),
                f"log {name}_start at the beginning of each {name}",
            )


@check(
    "pairing.unstarted-evaluation",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="every evaluation outcome belongs to an evaluation that was started",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    bad=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_accuracy", 3.4, samples_count=12_288),
        at(4, "eval_accuracy", 3.3, samples_count=24_576),
    ),
    good=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_accuracy", 3.4, samples_count=12_288),
        at(3, "eval_start", samples_count=24_576),
        at(4, "eval_accuracy", 3.3, samples_count=24_576),
    ),
    by_benchmark=True,
)
def unstarted(run: Run, context: Context) -> Iterator[Violation]:
    """Convergence is compared at the position of the outcome: it must be the evaluation's."""
    key = outcome_key(run)
    starts, outcomes = marks_of(run, "eval_start"), marks_of(run, key)
    # Positions in two units cannot be matched
    if starts is None or outcomes is None or starts.unit != outcomes.unit or context.offline:
        return
    unmatched = outcomes.not_among(starts)
    # Some logs count the samples of eval_start differently: then no outcome has a start
    if unmatched and len(unmatched) < len(outcomes.values):
        yield Violation(
            unmatched[0][0],
            f"{key} is logged at {where_is((outcomes.unit, unmatched[0][1]))}, where no eval_start "
            f"is logged ({len(unmatched)} of {len(outcomes.values)} evaluations); must belong to "
            "an evaluation that was started",
            "the position of an eval_start",
            unmatched[0][1],
            "give eval_start and the outcome of one evaluation the same position",
        )


@check(
    "pairing.evaluation-without-outcome",
    follows=OF_REPEATED_RECORDS,
    key="eval_accuracy",
    says="every evaluation that began and ended has an outcome in the log",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    bad=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_accuracy", 3.4, samples_count=12_288),
        at(2, "eval_stop", samples_count=12_288),
        at(3, "eval_start", samples_count=24_576),
        at(4, "eval_stop", samples_count=24_576),
    ),
    good=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_accuracy", 3.4, samples_count=12_288),
        at(2, "eval_stop", samples_count=12_288),
        at(3, "eval_start", samples_count=24_576),
        at(4, "eval_accuracy", 3.3, samples_count=24_576),
        at(4, "eval_stop", samples_count=24_576),
    ),
    by_benchmark=True,
)
def without_outcome(run: Run, context: Context) -> Iterator[Violation]:
    """A missing outcome may have been removed, so that another evaluation decides the result.

    An evaluation that run_stop cuts short needs no outcome.
    """
    key = outcome_key(run)
    starts, outcomes = marks_of(run, "eval_start"), marks_of(run, key)
    if starts is None or outcomes is None or starts.unit != outcomes.unit or context.offline:
        return
    missing = starts.not_among(outcomes)
    # An outcome at another position is not missing: `pairing.unstarted-evaluation` reports it
    if missing and outcomes.not_among(starts):
        return
    stops = marks_of(run, "eval_stop") if missing else None
    if stops is None or stops.unit != starts.unit:
        return
    stop_positions = {*stops.values}
    missing = [mark for mark in missing if mark[1] in stop_positions]
    # Some logs count the samples of eval_start differently: then no start has an outcome
    if missing and len(missing) < len(starts.values):
        yield Violation(
            missing[0][0],
            f"no {key} is logged for the evaluation at {where_is((starts.unit, missing[0][1]))} "
            f"({len(missing)} of {len(starts.values)} evaluations), which began and ended; must be "
            "logged for each",
            f"{key} at the position of each eval_start",
            len(missing),
            f"log {key} between eval_start and eval_stop of every evaluation",
        )


@check(
    "pairing.evaluation-positions",
    follows=OF_REPEATED_RECORDS,
    key="eval_stop",
    says="eval_start and eval_stop of one evaluation give the same position",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    severity=Severity.NOTE,
    bad=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_stop", samples_count=12_320),
    ),
    good=excerpt(
        at(1, "eval_start", samples_count=12_288),
        at(2, "eval_stop", samples_count=12_288),
    ),
)
def evaluation_positions(run: Run, _: Context) -> Iterator[Violation]:
    """Training does not advance during an evaluation: one of two different positions is wrong."""
    yield from _stops_elsewhere("eval", marks_of(run, "eval_start"), marks_of(run, "eval_stop"))


@check(
    "pairing.block-positions",
    follows=OF_REPEATED_RECORDS,
    key="block_stop",
    says="block_stop gives the position at which the block began, like its block_start",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    severity=Severity.NOTE,
    bad=excerpt(
        at(1, "block_start", first_epoch_num=1, epoch_count=4),
        at(2, "block_stop", first_epoch_num=5),
    ),
    good=excerpt(
        at(1, "block_start", first_epoch_num=1, epoch_count=4),
        at(2, "block_stop", first_epoch_num=1),
    ),
)
def block_positions(run: Run, _: Context) -> Iterator[Violation]:
    """The first epoch identifies a block. Many accepted logs give the last epoch instead."""
    starts = marks_of(run, "block_start", BLOCK)
    # samples_count of a block is its length in some logs and the total so far in others
    if starts is not None and starts.unit == "first_epoch_num":
        yield from _stops_elsewhere("block", starts, marks_of(run, "block_stop", BLOCK))


def _stops_elsewhere(name: str, starts: Marks | None, stops: Marks | None) -> Iterator[Violation]:
    if starts is None or stops is None or starts.unit != stops.unit:
        return
    unmatched = stops.not_among(starts)
    if unmatched:
        unit, (index, value) = stops.unit, unmatched[0]
        yield Violation(
            index,
            f"{unit} of {name}_stop is {show(value)}, which no {name}_start has ({len(unmatched)} "
            f"of {len(stops.values)} records); must equal the {unit} of its {name}_start",
            f"{unit} of a {name}_start",
            value,
            f"give {name}_start and {name}_stop of one {name} the same {unit}",
        )


@check(
    "pairing.final-position",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="the position of run_stop, if logged, equals the position of the last evaluation",
    cites=CITES,
    stated_by=StatedBy.PODIUM,
    bad=excerpt(
        at(2, "eval_accuracy", 3.2, samples_count=24_576),
        at(3, "run_stop", status="success", samples_count=12_288),
    ),
    good=excerpt(
        at(2, "eval_accuracy", 3.2, samples_count=24_576),
        at(3, "run_stop", status="success", samples_count=24_576),
    ),
    by_benchmark=True,
    watches=(on("run_stop"),),
)
def final_position(run: Run, context: Context) -> Iterator[Violation]:
    """The run ends with the evaluation that reaches the target: both must have one position.

    Samples may differ by one batch: some programs count the current batch, others only completed
    batches.
    """
    stops = run.where.get("run_stop")
    if not stops or context.offline:
        return
    metadata = metadata_of(run.records[stops[0]])
    indices = evaluations_before(run, stops[0])
    point = position(run.records[indices[-1]]) if indices else None
    if point is None or point[0] not in metadata:
        return
    # In the unit of the evaluation: run_stop may state several
    final = position(run.records[stops[0]], point[:1])
    # Positions that count samples may differ by a batch
    batch = run.number("global_batch_size") if point[0] == "samples_count" else None
    if final is not None and abs(final[1] - point[1]) > (batch or 0.0):
        expected = show(point[1])
        yield Violation(
            stops[0],
            f"{final[0]} of run_stop is {show(final[1])}; must be {expected}, the position of the "
            "last evaluation",
            expected,
            final[1],
            "log in run_stop the position of the evaluation that ended the run",
        )


CHECKS = (
    left_open,
    stop_without_start,
    unstarted,
    without_outcome,
    evaluation_positions,
    block_positions,
    final_position,
)
