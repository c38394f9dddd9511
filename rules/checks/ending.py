"""The end of a run: soon after the target, with no further training, and not too early."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from podium.logging_spec import keys as k
from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import (
    OUTCOMES,
    TRAINING,
    evaluations_before,
    minutes,
    position,
    status_of,
    target_of,
)
from podium.rules.checks.watch import on
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity
from podium.rules.run import MINUTE_MS, Run, as_number, metadata_of
from podium.rules.table import Violation

CITES = TRAINING + "Quality measure"
CLOSED = ("closed",)

LONGEST_END_MS = 5 * MINUTE_MS
"""Milliseconds allowed from the last outcome to run_stop; accepted closed runs need up to 3.1
min."""

MOST_BLOCKS = 1
"""Blocks that may begin after the target is reached, because evaluation overlaps training."""

_TARGET = at(0, "submission_benchmark", "llama31_8b")
_REACHED = at(10, "eval_accuracy", 3.2, samples_count=24_576)


@check(
    "evaluation.late-stop",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="run_stop follows the evaluation that reaches the target",
    cites=CITES,
    divisions=CLOSED,
    # A note: the rules let the clock stop there, and a submitter who lets it run loses time
    severity=Severity.NOTE,
    bad=excerpt(
        _TARGET,
        at(5, "eval_accuracy", 3.4, samples_count=12_288),
        _REACHED,
        at(40, "run_stop", status="success"),
    ),
    good=excerpt(
        _TARGET,
        at(5, "eval_accuracy", 3.4, samples_count=12_288),
        _REACHED,
        at(10.1, "run_stop", status="success"),
    ),
    by_benchmark=True,
    watches=(on("run_stop"),),
)
def late_stop(run: Run, context: Context) -> Iterator[Violation]:
    """If there is time for another evaluation, one may have been removed from the log.

    An example is an evaluation that misses the target after one that reached it by chance.
    """
    stop = status_of(run)
    if stop is None or stop[1] != k.SUCCESS or context.offline:
        return
    records, indices = run.records, evaluations_before(run, stop[0])
    if not indices:
        return
    delay = records[stop[0]].time_ms - records[indices[-1]].time_ms
    if delay <= LONGEST_END_MS:  # true of nearly every log
        return
    times = sorted({records[index].time_ms for index in indices})
    start = run.first("run_start")
    # The interval of a single evaluation is the time since the run began
    times = [start.time_ms, *times] if start is not None and len(times) == 1 else times
    longest = max((next_time - time for time, next_time in pairwise(times)), default=0.0)
    delay = records[stop[0]].time_ms - times[-1]
    if delay > max(longest, LONGEST_END_MS):
        yield Violation(
            stop[0],
            f"run_stop is {minutes(delay)} after the last evaluation, longer than any interval "
            f"between two; must follow the evaluation that ends the run",
            "right after the last evaluation",
            delay,
            "log every evaluation, and log run_stop as soon as the target is known to be reached",
        )


@check(
    "evaluation.trains-on",
    follows=OF_REPEATED_RECORDS,
    key="block_start",
    says="training ends with the evaluation that reaches the target",
    cites=CITES,
    divisions=CLOSED,
    bad=excerpt(
        _TARGET,
        _REACHED,
        at(11, "block_start", samples_count=24_576),
        at(14, "block_start", samples_count=36_864),
        at(17, "run_stop", status="success"),
    ),
    good=excerpt(
        _TARGET,
        _REACHED,
        at(11, "block_start", samples_count=24_576),
        at(12, "run_stop", status="success"),
    ),
    by_benchmark=True,
    watches=(on("run_stop"),),
)
def trains_on(run: Run, context: Context) -> Iterator[Violation]:
    """Convergence is compared with reference runs, which end at that evaluation.

    One block may have begun if evaluation overlaps training, but not more.
    """
    target, stop, blocks = target_of(context), status_of(run), run.where.get("block_start", [])
    if target is None or stop is None or len(blocks) <= MOST_BLOCKS or context.offline:
        return
    records, indices = run.records, evaluations_before(run, stop[0])
    if not indices:
        return
    outcome_ms, stop_ms = records[indices[-1]].time_ms, records[stop[0]].time_ms
    # The last block that is not allowed decides for nearly every log
    if records[blocks[-1 - MOST_BLOCKS]].time_ms <= outcome_ms and blocks[-1] <= stop[0]:
        return
    # If evaluations follow as well, `evaluation.after-target` reports them
    if not target.reached(run, indices[-1]):
        return
    # Each position once: every rank may log the block
    positions = {
        position(records[index], ("first_epoch_num", "samples_count", "step_num", "epoch_num"))
        for index in blocks
        if outcome_ms < records[index].time_ms < stop_ms
    }
    if len(positions) > MOST_BLOCKS:
        yield Violation(
            stop[0],
            f"{len(positions)} blocks begin between the last evaluation, which reaches the target, "
            f"and run_stop; must be at most {MOST_BLOCKS}",
            f"at most {MOST_BLOCKS}",
            len(positions),
            "stop the run at the first evaluation that reaches the target",
        )


@check(
    "run.gave-up-early",
    follows=OF_REPEATED_RECORDS,
    key="run_stop",
    says="a run that does not converge trains for at least the time that its benchmark requires",
    cites=TRAINING + "Benchmark Results",
    divisions=CLOSED,
    bad=excerpt(
        at(0, "submission_benchmark", "unet3d"),
        at(0, "global_batch_size", 56),
        at(50, "eval_accuracy", 0.89, epoch_num=4000),
        at(51, "run_stop", status="aborted"),
    ),
    good=excerpt(
        at(0, "submission_benchmark", "unet3d"),
        at(0, "global_batch_size", 56),
        at(50, "eval_accuracy", 0.89, epoch_num=10_000),
        at(51, "run_stop", status="aborted"),
    ),
    by_benchmark=True,
    watches=(on("run_stop"),),
)
def gave_up_early(run: Run, context: Context) -> Iterator[Violation]:
    """A run counts as not converged only after it trained long enough to converge.

    For 3D U-Net the rules state the number of epochs; a run that stops earlier could have
    converged.
    """
    schedule, stop = context.schedule, status_of(run)
    if schedule is None or stop is None or stop[1] == k.SUCCESS:
        return
    batch, farthest = run.number(k.GLOBAL_BATCH_SIZE.name), _farthest(run, schedule.positions)
    if batch is None or batch <= 0 or farthest is None:
        return
    # Only the schedule of 3D U-Net has such a number
    dues = [due for due in schedule.due(batch) if due.longest is not None]
    if not dues:
        return
    # Later logs count samples under the same name; only samples reach numbers this large
    unit = (
        "samples"
        if farthest > max(due.longest or 0 for due in dues if due.unit == "epochs")
        else ""
    )
    limits = [(due.longest or 0, due) for due in dues if due.unit == (unit or "epochs")]
    if not limits:
        return
    minimum, due = min(limits, key=lambda limit: limit[0])
    if farthest < minimum - due.interval - due.slack:
        yield Violation(
            stop[0],
            f"the run stopped at {show(farthest)} {due.unit}; must train for {show(minimum)} "
            f"{due.unit} before it counts as not converged",
            f"{show(minimum)} {due.unit}",
            farthest,
            "let the run train to its end, or repeat it",
        )


def _farthest(run: Run, names: tuple[str, ...]) -> float | None:
    """The latest training position in the log, from its evaluations and its end."""
    records = run.records
    positions = [
        number
        for key in (*OUTCOMES, "run_stop")
        for index in run.where.get(key, ())
        for name in names
        if (number := as_number(metadata_of(records[index]).get(name))) is not None
    ]
    return max(positions, default=None)


CHECKS = (late_stop, trains_on, gave_up_early)
