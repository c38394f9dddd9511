"""One power meter's log: its readings, its findings, and its energy.

Watts, milliseconds since 1970, joules. Source: power measurement rules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from podium.compliance.judging.power.power_rules import (
    BAD_EFFICIENCY,
    BAD_READING,
    CADENCE,
    CLOCK,
    COVERAGE,
    IMPLAUSIBLE,
    MARKERS,
    MEASUREMENT_TYPE,
    NO_READINGS,
    NO_WATTS,
    TOO_FEW_READINGS,
    UNORDERED,
    UNREADABLE,
)
from podium.logging_spec.reader.read import Log
from podium.logging_spec.reader.record import Record
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.run import as_number, metadata_of

LONGEST_GAP_MS = 1500.0
"""One reading per second is required; the margin allows for clocks with whole seconds."""

LOST_MS = 3000.0
"""A gap up to this length is one lost or late reading, and does not need a warning."""

LEAST_WATTS, MOST_WATTS = 20.0, 300_000.0
"""Mean power of a node: less than the smallest idle computer with an accelerator, more than a full
rack."""

FEWEST_READINGS = 60
"""The least number of readings in the timed part of a run."""

START, STOP, READING = "power_measurement_start", "power_measurement_stop", "power_reading"
EFFICIENCY, ESTIMATE = "conversion_eff", "interconnect_power_est"


_PLAIN, _MOST = (float, int), 1e15
"""Types of nearly all readings, and a limit below which a float is exact."""


class Reading(NamedTuple):
    """One reading of a meter, with the position of its record in the log."""

    time: float
    watts: float
    position: int


class Meter(msgspec.Struct, dict=True):
    """A node's or a switch's log as the policy reads it; findings are at `path`.

    `efficiency` is the share of the measured power that the system draws, None if the logged value
    is invalid. It counts if the meter measures alternating current.
    """

    log: Log
    switch: bool
    path: str
    readings: list[Reading] = msgspec.field(default_factory=list)
    starts: list[tuple[float, int]] = msgspec.field(default_factory=list)
    stops: list[tuple[float, int]] = msgspec.field(default_factory=list)
    estimate: float | None = None
    efficiency: float | None = 1.0
    alternating: bool = False
    findings: list[Finding] = msgspec.field(default_factory=list)

    def line(self, position: int) -> int:
        """The log's line of a record; computed only for findings."""
        return self.log.line_at(position)

    def found(self, rule: FixedRule, line: int | None, key: str | None, **fields: Any) -> Finding:
        """A finding about the log: only the policy has rules on its content."""
        return rule.found(Profile.POLICY, self.path, line=line, key=key, **fields)

    def joules(self, start: float, stop: float) -> float | None:
        """The energy from run_start to run_stop; None if it is not known.

        Each reading applies to the time since the previous reading, clipped to the timed part. An
        estimate applies to the whole timed part.
        """
        if not self.readings:
            # Power rules: the interconnect may be estimated, nodes must be measured
            estimate = self.estimate if self.switch else None
            return None if estimate is None else estimate * (stop - start) / 1000
        if self.efficiency is None or not self.overlaps(start, stop):
            return None
        energy, previous = 0.0, self.begin
        for time, watts, _ in self.ordered:
            # Clipped, so that idle time before or after the run does not change its energy
            span = (time if time < stop else stop) - (previous if previous > start else start)
            if span > 0:
                energy += watts * span
            previous = time
        return energy * (self.efficiency if self.alternating else 1.0) / 1000

    @cached_property
    def ordered(self) -> list[Reading]:
        """The readings in order of time, after all are read."""
        return sorted(self.readings)

    @property
    def begin(self) -> float:
        """The start of the measurement: the start marker, or the first reading."""
        return min(
            [time for time, _ in self.starts] + [reading.time for reading in self.ordered[:1]]
        )

    def overlaps(self, start: float, stop: float) -> bool:
        """Whether anything was measured while the run was timed."""
        return self.begin < stop and self.ordered[-1].time > start


def read_meter(log: Log, path: str, *, switch: bool) -> Meter:
    """Read a power log; invalid lines and numbers become findings at `path`."""
    meter = Meter(log, switch, path)
    faults = [fault for fault in log.faults if not fault.is_stray]
    for fault in faults:
        line = log.line_of(fault)
        meter.findings.append(meter.found(UNREADABLE, line, None, problem=fault.message))
    for position, record in log.placed_records():
        watts = record.value
        # By type, because true is an instance of int, but not a reading
        if record.key == READING and type(watts) in _PLAIN and 0 <= watts < _MOST:
            meter.readings.append(Reading(record.time_ms, float(watts), position))
        else:
            _take(meter, record, position)
    # A file that cannot be read to its end may have readings: its finding is sufficient
    is_readable = all(fault.position >= 0 for fault in faults)
    if is_readable and not meter.readings and not (switch and meter.estimate is not None):
        expected = f"{READING} or {ESTIMATE}" if switch else READING
        meter.findings.append(meter.found(NO_READINGS, None, READING, wanted=expected))
    return meter


def _take(meter: Meter, record: Record, position: int) -> None:
    """Read a record that is not a plain reading."""
    if record.key == START:
        meter.starts.append((record.time_ms, position))
    elif record.key == STOP:
        meter.stops.append((record.time_ms, position))
    elif record.key in (READING, ESTIMATE):
        _take_watts(meter, record, position)
    elif record.key == EFFICIENCY:
        _take_efficiency(meter, record, position)


def _take_watts(meter: Meter, record: Record, position: int) -> None:
    key, value = record.key, record.value
    number = as_number(value)
    value_text = repr(value)[:60]
    if number is None or number < 0:
        _add_bad_reading(meter, record, position, value_text, value_text)
    elif key == READING:
        meter.readings.append(Reading(record.time_ms, number, position))
    elif meter.estimate is None:  # the first counts, as in the official summary
        meter.estimate = number
    # Counted, but also reported, because the official summary crashes on a string
    if isinstance(value, str) and number is not None:
        _add_bad_reading(meter, record, position, f"the string {value_text}", value[:60])


def _add_bad_reading(meter: Meter, record: Record, position: int, value: str, text: str) -> None:
    line, key = meter.line(position), record.key
    finding = meter.found(BAD_READING, line, key, logged=key, value=value, given=text)
    meter.findings.append(finding)


def _take_efficiency(meter: Meter, record: Record, position: int) -> None:
    number = as_number(record.value)
    is_valid = number is not None and 0 < number <= 1
    meter.efficiency = number if is_valid else None
    if not is_valid:
        _add_about_efficiency(meter, BAD_EFFICIENCY, position, record.value)
    kind = metadata_of(record).get("measurement_type")
    # Only DC needs no correction; the official summary applies every efficiency
    meter.alternating = kind != "DC"
    if kind not in ("AC", "DC"):
        _add_about_efficiency(meter, MEASUREMENT_TYPE, position, kind)


def _add_about_efficiency(meter: Meter, rule: FixedRule, position: int, value: object) -> None:
    value_text = repr(value)[:60]
    meter.findings.append(meter.found(rule, meter.line(position), EFFICIENCY, given=value_text))


def timing_findings(meter: Meter, start: float | None, stop: float | None) -> Iterator[Finding]:
    """Findings about the times of a meter's readings and markers, given the timed part."""
    readings = meter.ordered
    if not readings:
        return
    yield from _markers(meter, readings)
    # In file order: `ordered` would hide the error
    for earlier, later in itertools.pairwise(meter.readings):
        if later.time < earlier.time:
            yield meter.found(UNORDERED, meter.line(later.position), READING)
            break
    if start is None or stop is None or start >= stop:
        return
    if not meter.overlaps(start, stop):
        early = readings[-1].time <= start
        gap = (start - readings[-1].time if early else meter.begin - stop) / 1000
        text = f"end {gap:.5g} s before run_start" if early else f"begin {gap:.5g} s after run_stop"
        yield meter.found(CLOCK, meter.line(readings[0].position), READING, when=text)
        return
    yield from _coverage(meter, readings, start, stop)


def _markers(meter: Meter, readings: list[Reading]) -> Iterator[Finding]:
    starts, stops = meter.starts, meter.stops
    problems, severity = [], None
    for key, markers in ((START, starts), (STOP, stops)):
        if len(markers) != 1:
            problems.append(f"{key} is {f'logged {len(markers)} times' if markers else 'missing'}")
    # In 1020 published files of 4.0 the stop has the start's time; readings are used instead
    if starts and stops and stops[-1][0] <= starts[0][0]:
        if not problems and stops[-1][0] == starts[0][0]:
            severity = Severity.NOTE
        relation = "when" if stops[-1][0] == starts[0][0] else "before"
        problems.append(f"the measurement stops {relation} it starts")
    elif (starts and starts[0][0] > readings[0].time) or (
        stops and stops[-1][0] < readings[-1].time
    ):
        problems.append("there are readings outside start and stop")
    if problems:
        _, position = (stops or starts or [(0.0, readings[0].position)])[-1]
        key = STOP if stops else START
        problem = "; ".join(problems)
        yield meter.found(MARKERS, meter.line(position), key, severity=severity, problem=problem)


def _coverage(
    meter: Meter, readings: list[Reading], start: float, stop: float
) -> Iterator[Finding]:
    late, early = meter.begin - start, stop - readings[-1].time
    missed_parts = []
    if late > LONGEST_GAP_MS:
        missed_parts.append(f"begins {late / 1000:.3g} s after run_start")
    if early > LONGEST_GAP_MS:
        missed_parts.append(f"ends {early / 1000:.3g} s before run_stop")
    if missed_parts:
        line = meter.line(readings[0 if late > LONGEST_GAP_MS else -1].position)
        yield meter.found(COVERAGE, line, READING, missed=" and ".join(missed_parts))
    gaps = [
        (later.time - earlier.time, later.position)
        for earlier, later in itertools.pairwise(readings)
        if later.time > start and earlier.time < stop and later.time - earlier.time > LONGEST_GAP_MS
    ]
    if gaps:
        longest, position = max(gaps, key=lambda gap: gap[0])
        line, seconds = meter.line(position), longest / 1000
        severity = None if longest > LOST_MS else Severity.NOTE
        if _usual_gap(readings) > LONGEST_GAP_MS:
            severity = Severity.ERROR
        yield meter.found(
            CADENCE, line, READING, severity=severity, count=len(gaps), longest=seconds
        )
    count = sum(start <= reading.time <= stop for reading in readings)
    if count < FEWEST_READINGS:
        yield meter.found(TOO_FEW_READINGS, None, READING, count=count, fewest=FEWEST_READINGS)


def _usual_gap(readings: list[Reading]) -> float:
    """The median of the times between readings."""
    gaps = sorted(later.time - earlier.time for earlier, later in itertools.pairwise(readings))
    return gaps[len(gaps) // 2]


def amount_findings(meter: Meter, joules: float | None, duration_ms: float) -> Iterator[Finding]:
    """Findings about implausible power of a node or a switch in the timed part."""
    watts = float("nan") if joules is None else joules / (duration_ms / 1000)
    key = READING if meter.readings else ESTIMATE
    if meter.switch and watts == 0:
        yield meter.found(NO_WATTS, None, key, watts=watts)
    bounds = {"least": LEAST_WATTS, "most": MOST_WATTS}
    if not meter.switch and (watts < LEAST_WATTS or watts > MOST_WATTS):
        yield meter.found(IMPLAUSIBLE, None, key, watts=watts, **bounds)


# --- as the official summary ---


def total(parts: Iterable[float | None]) -> float | None:
    """The sum; None without parts, or if a part is not known."""
    values = list(parts)
    if not values or any(part is None for part in values):
        return None
    return sum(part for part in values if part is not None)
