"""Speed of a run: its clock compared with its training progress and its logged throughput."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import lt, sub, truediv

import msgspec

from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import POSITIONS, TRAINING, marks_of, minutes, outcome_key
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity
from podium.rules.run import Run, as_number, metadata_of
from podium.rules.table import Violation

CITES = TRAINING + "Run Results"
CLOSED = ("closed",)

LEAST_INTERVALS = 4
"""Minimum number of intervals with a usual length."""

CUT = 0.4
"""Share of the usual length below which an interval lacks time; accepted closed runs of a minute
and more have at least 0.58."""

LEAST_MISSING_MS = 5000.0
"""Minimum missing time: intervals of a second or two vary by more than their length."""

LEAST_HALVES, LEAST_TIMED_MS = 8, 120_000.0
"""Minimum number of intervals, and minimum total time, to compare the two halves of a run."""

CHANGE = 1.75
"""Factor by which one half may be slower than the other; accepted runs reach 1.6."""

EVEN = 1.5
"""Factor by which intervals may differ if throughput is a running mean."""

MOST_SAMPLED = 24
"""Number of throughput records to examine: some runs log thousands, and a gap shows in any
sample."""

_BLOCK = ("first_epoch_num", "samples_count", "step_num", "epoch_num")
_TRACKED = ("step", *POSITIONS)


class Course(msgspec.Struct, frozen=True):
    """Training progress in ascending order: records, positions, times (ms).

    `paces` are the milliseconds per unit of position in each interval, `usual` is their median, and
    `fastest` their minimum.
    """

    unit: str
    places: Sequence[int]
    positions: Sequence[float]
    times: Sequence[float]
    paces: Sequence[float]
    usual: float
    fastest: float


def course_of(run: Run, context: Context) -> Course | None:
    """The course of the run from its evaluations, otherwise from its blocks or epochs.

    None if it has none, or if it is so even that there is nothing to find. Outcomes are the last
    choice: if evaluation overlaps training, they are late by an unknown time.
    """
    if "course" not in run.memo:
        run.memo["course"] = _course(run, context)
    course: Course | None = run.memo["course"]
    return course


def _course(run: Run, context: Context) -> Course | None:
    schedule, stop = context.schedule, run.first("run_stop")
    # A generation of MiniGo plays and trains in turns, so its intervals are not equal parts
    if schedule is not None and schedule.offline and schedule.unit == "epochs":
        return None
    end_ms = float("inf") if stop is None else stop.time_ms
    training = (("block_start", _BLOCK), ("epoch_start", POSITIONS))
    evaluation = (("eval_start", POSITIONS),)
    keys = training if context.offline else (*evaluation, *training, (outcome_key(run), POSITIONS))
    for key, names in keys:
        # There is one record more than there are intervals
        indices = run.where.get(key, ())
        if len(indices) > LEAST_INTERVALS:
            if _even(run, indices):  # true of most logs, and faster than making a course
                return None
            course = _of(run, key, names, end_ms)
            if course is not None:
                return course
    return None


def _even(run: Run, indices: Sequence[int]) -> bool:
    """Whether the times between records are so even that no speed is an outlier.

    Only times are compared, because the schedule check verifies that the positions are even.
    """
    records = run.records
    times = [records[index].time_ms for index in indices]
    gaps: list[float] = [*map(sub, times[1:], times)]
    return 0 < max(gaps) <= CHANGE * min(gaps)


def _of(run: Run, key: str, names: tuple[str, ...], end_ms: float) -> Course | None:
    marks = marks_of(run, key, names)
    if marks is None:
        return None
    records, indices, positions = run.records, marks.places, marks.values
    if positions != marks.ranked or 0 in map(sub, positions[1:], positions):
        # Ranks repeat a mark: each position counts once, at its first record
        first_marks = sorted(marks.first_at().items())
        positions, indices = [p for p, _ in first_marks], [i for _, i in first_marks]
    times = [records[index].time_ms for index in indices]
    # Public logs continue after run_stop; another check reports times out of order
    if times[-1] > end_ms:
        last = sum(time <= end_ms for time in times)
        indices, positions, times = indices[:last], positions[:last], times[:last]
    if len(times) <= LEAST_INTERVALS or not all(map(lt, times, times[1:])):
        return None
    # Only operators, because this runs for every log
    paces = [*map(truediv, map(sub, times[1:], times), map(sub, positions[1:], positions))]
    ranked = sorted(paces)
    median = ranked[len(ranked) // 2]
    return Course(marks.unit, indices, positions, times, paces, median, ranked[0])


def _median(values: Sequence[float]) -> float:
    # Not from `statistics`, which takes longer to load than all logs of a result take to check
    return sorted(values)[len(values) // 2]


def _samples(*minutes_at: float) -> str:
    return excerpt(
        at(0, "submission_benchmark", "llama31_8b"),
        *(
            at(minute, "eval_start", samples_count=12_288 * (number + 1))
            for number, minute in enumerate(minutes_at)
        ),
    )


STEADY = 0.9
"""Maximum ratio of each interval to the one before it if a run speeds up steadily."""


def _falls(paces: Sequence[float]) -> bool:
    """Whether every interval is shorter than the one before, for example while a cache fills."""
    return all(after <= STEADY * before for before, after in pairwise(paces))


@check(
    "speed.cut-interval",
    says="no interval between evaluations takes far less time than the others",
    cites=CITES,
    divisions=CLOSED,
    bad=_samples(5, 10, 15, 15.5, 20.5, 25.5),
    good=_samples(5, 10, 15, 19, 24, 29),
    by_benchmark=True,
)
def cut_interval(run: Run, context: Context) -> Iterator[Violation]:
    """The clock may not be paused, and no part of a run may be removed from its log.

    A system can be slow for a while and need longer for one interval than for another. It cannot be
    much faster than usual in a single interval.
    """
    course = course_of(run, context)
    if course is None or course.fastest >= CUT * course.usual or _falls(course.paces):
        return
    shortest = min(range(len(course.paces)), key=course.paces.__getitem__)
    actual = course.times[shortest + 1] - course.times[shortest]
    median = course.usual * (course.positions[shortest + 1] - course.positions[shortest])
    if median - actual >= LEAST_MISSING_MS:
        index = course.places[shortest + 1]
        yield Violation(
            index,
            f"the interval up to {course.unit} {show(course.positions[shortest + 1])} takes "
            f"{minutes(actual)}, while {minutes(median)} is usual in this run; must be timed in "
            "full",
            f"about {minutes(median)}",
            actual,
            "log the whole run with one clock, and submit the log as it was written",
        )


@check(
    "speed.changes",
    says="a run trains at one speed from its start to its end",
    cites=CITES,
    divisions=CLOSED,
    severity=Severity.NOTE,
    bad=_samples(1, 2, 3, 4, 5, 7, 9, 11, 13),
    good=_samples(1, 2, 3, 4, 5, 6, 8, 9, 10),
    by_benchmark=True,
)
def changes(run: Run, context: Context) -> Iterator[Violation]:
    """Only the speed shows that half of a run used other hardware or came from another run.

    Slow storage, throttled accelerators or longer evaluations are possible explanations, too.
    """
    course = course_of(run, context)
    if course is None or len(course.paces) < LEAST_HALVES:
        return
    if course.times[-1] - course.times[0] < LEAST_TIMED_MS:
        return
    half = len(course.paces) // 2
    first, second = _median(course.paces[:half]), _median(course.paces[-half:])
    if max(first, second) > CHANGE * min(first, second):
        factor, direction = (
            (second / first, "slower") if second > first else (first / second, "faster")
        )
        yield Violation(
            course.places[-half],
            f"from {course.unit} {show(course.positions[-half])} on, the run is {factor:.3g} "
            f"times {direction} than before; must keep its speed, or have a known reason",
            f"less than {CHANGE:g} times",
            round(factor, 3),
            "find out what changed, such as nodes, clocks or storage, and be ready to explain it",
        )


def _tracked(*minutes_at: float) -> str:
    return excerpt(
        *(
            at(minute, "tracked_stats", {"throughput": 100.0}, step=1000 * (number + 1))
            for number, minute in enumerate(minutes_at)
        )
    )


@check(
    "speed.throughput-disagrees",
    key="tracked_stats",
    says="the throughput that a run logs agrees with its clock",
    cites=CITES,
    bad=_tracked(5, 10, 15, 15.5, 20.5, 25.5, 30.5),
    good=_tracked(5, 10, 15, 20, 25, 30, 35),
)
def throughput_disagrees(run: Run, _: Context) -> Iterator[Violation]:
    """Throughput and time both show how much was trained: if they disagree, one was changed.

    Intervals may be longer than the throughput implies, because they include evaluation. The last
    interval is usually incomplete.
    """
    indices = run.where.get("tracked_stats", [])
    if len(indices) < LEAST_INTERVALS + 2:
        return
    records = run.records
    first = records[indices[0]].value
    if type(first) is not dict or "throughput" not in first:
        return
    sample = indices[:: 1 + len(indices) // MOST_SAMPLED]
    if _even(run, sample[:-1]):
        return
    throughputs = _throughputs(run, sample)
    spans = [
        (after[0], span, after[3] * span / distance)
        for before, after in pairwise(throughputs)
        if (span := after[1] - before[1]) > 0 and (distance := after[2] - before[2]) > 0
    ][:-1]
    if len(spans) < LEAST_INTERVALS:
        return
    if _is_running_mean(run, throughputs):
        return
    median = _median([ratio for _, _, ratio in spans])
    index, span, ratio = min(spans, key=lambda entry: entry[2])
    if 0 < ratio < CUT * median and span * (median / ratio - 1) >= LEAST_MISSING_MS:
        expected = span * median / ratio
        yield Violation(
            index,
            f"the interval up to this record takes {minutes(span)} by the clock, but about "
            f"{minutes(expected)} according to its throughput; must agree with it, as in the "
            "other intervals",
            f"about {minutes(expected)}",
            span,
            "log the whole run with one clock, and submit the log as it was written",
        )


def _is_running_mean(run: Run, throughputs: Sequence[tuple[int, float, float, float]]) -> bool:
    """Whether throughput times the time since run_start equals the position, in each interval.

    Then it is the mean of the run so far, which says little about a single interval.
    """
    start = run.first("run_start")
    if start is None:
        return False
    totals = [
        (value * (time - start.time_ms), position) for _, time, position, value in throughputs
    ]
    rates = [
        (after[0] - before[0]) / distance
        for before, after in pairwise(totals)
        if (distance := after[1] - before[1]) > 0
    ]
    median = _median(rates)
    return all(median < EVEN * rate and rate < EVEN * median for rate in rates)


def _throughputs(run: Run, indices: Sequence[int]) -> list[tuple[int, float, float, float]]:
    """(index, time, position, throughput) of the records that have them, in one unit."""
    records = run.records
    first_metadata = metadata_of(records[indices[0]])
    unit = next((name for name in _TRACKED if as_number(first_metadata.get(name)) is not None), "")
    throughputs = []
    for record, index in [(records[index], index) for index in indices]:
        statistics, metadata = record.value, record.metadata
        if type(statistics) is dict and type(metadata) is dict:
            value, position = as_number(statistics.get("throughput")), as_number(metadata.get(unit))
            if value and position is not None:
                throughputs.append((index, record.time_ms, position, value))
    return throughputs


CHECKS = (cut_interval, changes, throughput_disagrees)
