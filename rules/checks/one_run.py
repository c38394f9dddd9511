"""One file: one run, logged by one process, with a clock in milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import isfinite
from operator import attrgetter

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context, check
from podium.rules.checks.excerpt import at, excerpt
from podium.rules.checks.points import TRAINING
from podium.rules.checks.time_units import (
    EARLIEST_MS,
    LATEST_MS,
    OtherUnit,
    other_unit,
    unit_of_short_run,
)
from podium.rules.checks.watch import again, on
from podium.rules.citations import LIBRARY
from podium.rules.consequences import OF_REPEATED_RECORDS
from podium.rules.constraints.formula import show
from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run
from podium.rules.table import Violation

DECLARED = frozenset(
    name for name, key in k.ALL.items() if key.role in ("submission", "hyperparameter")
)
"""Keys that a run logs once, at its beginning."""

_FEWEST = 3
"""Minimum number of repeated declarations that shows a second run: fewer may be accidental
repeats."""

_PAIRS = (
    ("init_start", "submission_benchmark"),
    ("submission_benchmark", "run_start"),
    ("init_start", "run_start"),
)
"""Pairs of keys that a run logs one after the other: a second run logs both again, in this
order."""

_PROGRESS = ("init_stop", "run_start", "block_start", "epoch_start")

_LEAST_GAP_MS = 1000.0
"""Minimum time of a relaunch: the processes of one run log their beginnings at the same time."""


def starts_of_attempts(run: Run) -> list[int]:
    """The indices of the records at which later runs of the file begin."""
    where = run.where
    # Each attempt repeats the declarations of the first
    repeated_keys = [key for key in DECLARED & where.keys() if len(where[key]) > 1]
    if len(repeated_keys) < _FEWEST:
        return []
    for pair in _PAIRS:
        if all(len(where.get(key, ())) > 1 for key in pair):
            first, second = sorted(pair, key=lambda key: where[key][0])
            if restarts := _restarts(run, where[first], where[second], repeated_keys):
                return restarts
    return []


def _restarts(
    run: Run,
    first_indices: Sequence[int],
    second_indices: Sequence[int],
    repeated_keys: Sequence[str],
) -> list[int]:
    """Indices at which the first key of a pair is logged again after the second key."""
    restarts: list[int] = []
    start = first_indices[0]
    for index in first_indices[1:]:
        separated = any(start < second < index for second in second_indices)
        if (
            separated
            and index < second_indices[-1]
            and _repeats_declarations(run, start, index, repeated_keys)
        ):
            restarts.append(index)
            start = index
    return restarts


def _repeats_declarations(run: Run, start: int, index: int, repeated_keys: Sequence[str]) -> bool:
    """Whether the declarations of a run from one record on are repeated from another record on."""
    where, records = run.where, run.records
    declarations = [key for key in repeated_keys if any(start <= i < index for i in where[key])]
    repeats = sum(where[key][-1] > index for key in declarations)
    if repeats < max(_FEWEST, len(declarations) / 2):
        return False
    attempt = records[start:index]
    # Caches are cleared before a run begins: the record belongs to the later attempt
    while len(attempt) > 1 and attempt[-1].key == "cache_clear":
        attempt = attempt[:-1]
    gap = records[index].time_ms - max(record.time_ms for record in attempt)
    if not any(record.key in _PROGRESS for record in attempt):
        # Ranks that log one run do so at the same time
        return gap >= _LEAST_GAP_MS
    # Logs may be joined in another order than that of the runs
    latest_after = max(record.time_ms for record in records[index:])
    precedes = latest_after < min(record.time_ms for record in attempt)
    return gap >= 0 or precedes or _is_copied(run, start, index, declarations)


def _is_copied(run: Run, start: int, index: int, declarations: Sequence[str]) -> bool:
    """Whether declarations are repeated with their times: a part of a log, then the whole log."""
    records = run.records

    def times_between(key: str, first: int, last: int) -> set[float]:
        return {records[i].time_ms for i in run.where[key] if first <= i < last}

    return all(
        times_between(key, start, index) >= times_between(key, index, len(records))
        for key in declarations
    )


def _ended(records: Sequence[Record]) -> str:
    stopped = any(record.key == "run_stop" for record in records)
    return "ended with run_stop" if stopped else "ended without run_stop"


_ATTEMPT = ("submission_benchmark", "submission_org", "submission_division", "global_batch_size")


def _attempt(minute: float) -> str:
    return excerpt(
        at(minute, "init_start"),
        *(at(minute, key, "1") for key in _ATTEMPT),
        at(minute + 1, "run_start"),
    )


@check(
    "log.several-attempts",
    key="init_start",
    says="a file contains one run",
    cites=TRAINING + "Submission Compliance Logs",
    severity=Severity.ERROR,
    bad=excerpt(_attempt(0), _attempt(30), at(60, "run_stop", status="success")),
    good=excerpt(_attempt(30), at(60, "run_stop", status="success")),
    watches=(on(*sorted(DECLARED), when=again),),
)
def several_attempts(run: Run, _: Context) -> Iterator[Violation]:
    """A log that a relaunched run appends to still contains the failed attempt.

    Every record then seems to be logged twice, and the score may come from either run.
    """
    starts = starts_of_attempts(run)
    if not starts:
        return
    ending = _ended(run.records[: starts[0]])
    lines = ", ".join(str(run.line(index)) for index in starts[1:4])
    further_runs = f", further runs at line {lines}" if lines else ""
    yield Violation(
        starts[0],
        f"this file contains {len(starts) + 1} runs: the second begins at line "
        f"{run.line(starts[0])}{further_runs}, and the first {ending}; must contain one run",
        "one run",
        len(starts) + 1,
        "keep only the lines of the run that is submitted: one file for each run",
    )


@check(
    "log.repeated-by-ranks",
    says="only one process logs a run",
    cites=TRAINING + "Submission Compliance Logs",
    severity=Severity.ERROR,
    bad=excerpt(*(at(0, "run_start"), at(0, "run_start"), at(9, "run_stop"), at(9, "run_stop"))),
    good=excerpt(at(0, "run_start"), at(9, "run_stop")),
)
def repeated_by_ranks(run: Run, context: Context) -> Iterator[Violation]:
    """A log that repeats each record once for each rank was not written by a single process.

    Its times differ by the time that the ranks need to reach the same line, so the order of events
    is lost.
    """
    starts = run.where.get("run_start", ())
    # Loggers of 0.5 and 0.6 wrote lines twice in accepted logs
    if len(starts) < 2 or context.generation != "mllog" or starts_of_attempts(run):
        return
    repeats = len(starts)
    for indices in run.where.values():
        if len(indices) % repeats:
            return
        values = Counter(repr(run.records[index].value) for index in indices)
        if any(count % repeats for count in values.values()):
            return
    yield Violation(
        min(indices[1] for indices in run.where.values()),
        f"every record is logged {repeats} times; must be logged once",
        "once",
        repeats,
        "log from one process only, such as rank 0",
    )


_time_of = attrgetter("time_ms")


def _begins_outside(_: Run, record: Record) -> bool:
    return not EARLIEST_MS <= record.time_ms <= LATEST_MS


def _in_seconds(key: str, second: int) -> str:
    line = at(0, key)
    return line.replace("1735689600000", str(1_735_689_600 + second))


@check(
    "run.time-unit",
    follows=OF_REPEATED_RECORDS,
    key="time_ms",
    says="time_ms is a finite number of milliseconds, not of another unit",
    cites=f"{LIBRARY}, time_ms",
    stated_by=StatedBy.PODIUM,
    severity=Severity.ERROR,
    bad=excerpt(_in_seconds("run_start", 0), _in_seconds("run_stop", 1320)),
    good=excerpt(at(0, "run_start"), at(22, "run_stop")),
    watches=(on("cache_clear", "init_start", "run_start", "run_stop", when=_begins_outside),),
)
def time_unit(run: Run, context: Context) -> Iterator[Violation]:
    """The score is a difference of two times: in seconds it is a thousandth of the correct value.

    Neither the official verifier nor the official summary notices this.
    """
    # Times of 0.5 and 0.6 are in seconds, and the reader converts them
    if context.generation != "mllog":
        return
    times = [*map(_time_of, run.records)]
    endless = [index for index, time in enumerate(times) if not isfinite(time)]
    if endless:
        time = times[endless[0]]
        yield Violation(
            endless[0],
            f"time_ms is {show(time)} ({len(endless)} of {len(times)} records); must be a finite "
            "number of milliseconds",
            "milliseconds since 1970",
            time,
            "log time_ms in milliseconds, such as int(time.time() * 1000)",
        )
        return
    other = other_unit(times)
    if other is not None:
        index, time = other.first, times[other.first]
        evidence = f"({show(time)}; {other.count} of {len(times)} records)"
    elif (other := _of_short_run(run)) is not None:
        index, time = run.where["run_stop"][-1], times[run.where["run_stop"][-1]]
        duration = time - times[run.where["run_start"][0]]
        evidence = f"(run_stop is {duration:.6g} after run_start)"
    else:
        return
    yield Violation(
        index,
        f"time_ms looks like {other.unit} {evidence}: the score would be {other.effect}; "
        "must be milliseconds since 1970",
        "milliseconds since 1970",
        time,
        "log time_ms in milliseconds, such as int(time.time() * 1000)",
    )


def _of_short_run(run: Run) -> OtherUnit | None:
    start, stop = run.first("run_start"), run.last("run_stop")
    if start is None or stop is None:
        return None
    return unit_of_short_run(start.time_ms, stop.time_ms)


@check(
    "run.clock-implausible",
    follows=OF_REPEATED_RECORDS,
    key="run_start",
    says="time_ms counts milliseconds since 1970",
    cites=f"{LIBRARY}, time_ms",
    stated_by=StatedBy.PODIUM,
    # A note only: accepted logs of 0.7 and 1.0 have clocks that count from 0
    severity=Severity.NOTE,
    bad=':::MLLOG {"time_ms": 3600000, "key": "run_start", "value": null, "metadata": {}}',
    good=at(0, "run_start"),
    watches=(on("run_start"),),
)
def clock_implausible(run: Run, _: Context) -> Iterator[Violation]:
    """Durations are correct even if the clock is not set, but runs cannot be compared in time."""
    index = _first_implausible(run)
    if index is None:
        return
    record = run.records[index]
    # A time in another unit, or NaN, is reported as such
    if (
        isfinite(record.time_ms)
        and other_unit([record.time_ms]) is None
        and _of_short_run(run) is None
    ):
        yield Violation(
            index,
            f"time_ms of {record.key} is {show(record.time_ms)}; must be milliseconds since 1970",
            "milliseconds since 1970",
            record.time_ms,
            "set the clock of the system, or correct the unit of time_ms",
        )


def _first_implausible(run: Run) -> int | None:
    """The index of run_start if its time is implausible, else of the first time before 1970."""
    start = run.where.get("run_start", (None,))[0]
    if start is not None and _begins_outside(run, run.records[start]):
        return start
    # Published logs give the time 0 to records that measure no time
    return next((i for i, record in enumerate(run.records) if record.time_ms < 0), None)


CHECKS = (several_attempts, repeated_by_ranks, time_unit, clock_implausible)
