"""The joules of a meter's log as the official summary computes them, including its quirks."""

from __future__ import annotations

from typing import Any

from podium.compliance.judging.power.meter import EFFICIENCY, ESTIMATE, READING, START, STOP
from podium.logging_spec.reader.read import CRASHING, Log
from podium.logging_spec.reader.record import Record


class NoSummary(Exception):
    """The official summary crashes on a power log."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def node_as_summed(log: Log, duration_ms: float) -> float:
    """A node's joules in the official summary: mean power of the measurement x time to train."""
    efficiency: Any = 1.0
    start: float | None = None
    stop: float | None = None
    previous, last, energy = 0.0, 0.0, 0.0
    # Sorted as in the summary, with equal times in file order: a stop with the start's time
    # precedes the readings
    for record in sorted(_officially_read(log), key=lambda record: record.time_ms):
        if record.key == EFFICIENCY:
            efficiency = record.value
        elif record.key == START:
            # A further start begins a new interval, and keeps the energy summed so far
            start = previous = record.time_ms
        elif record.key == STOP:
            stop = record.time_ms
        elif record.key == READING and start is not None and stop is None:
            # It includes readings before run_start: idle time changes the energy.
            energy += _factor(record.value) * (record.time_ms - previous)
            previous = record.time_ms
            last = max(last, previous)
    if start is None:
        raise NoSummary(f"the log has no {START}")
    # Without a stop it uses the time of the last reading
    measured = (last if stop is None else stop) - start
    if measured == 0:
        # Published files have such stops, with the time of the start.
        raise NoSummary("the measurement stops when it starts: division by zero")
    return _factor(efficiency) * energy * duration_ms / measured / 1000


def switch_as_summed(log: Log, duration_ms: float) -> float:
    """A switch's joules in the official summary: its first estimate; readings do not count."""
    efficiency: Any = 1.0
    for record in _officially_read(log):
        # It returns at the first estimate, so a later efficiency does not count.
        if record.key == EFFICIENCY:
            efficiency = record.value
        elif record.key == ESTIMATE:
            return _factor(efficiency) * _factor(record.value) * duration_ms / 1000
    # Switches of 4.1 log readings instead of an estimate, which it counts as 0 J
    return 0.0


def _officially_read(log: Log) -> list[Record]:
    for fault in log.faults:
        if fault.kind in CRASHING or (fault.position < 0 and not fault.is_stray):
            raise NoSummary(fault.message, log.line_of(fault))
    return log.records if log.generation == "mllog" else []


def _factor(value: Any) -> float:
    # true is accepted: Python multiplies it as 1, and so does the summary
    if not isinstance(value, int | float):
        raise NoSummary(f"{value!r:.60} is not a number")
    try:
        return float(value)
    except OverflowError:
        raise NoSummary("a number is too large") from None
