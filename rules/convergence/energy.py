"""Energy of one run from its parsed power logs: by the written policy, and as officially summed.

Source: power measurement rules. Readings are watts, times milliseconds since 1970, energies joules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from logging_spec.record import Record
from rules.run import as_number, metadata_of

LONGEST_GAP_MS = 1500.0
"""One reading per second is asked for; this allows for a clock of whole seconds."""

FEWEST_READINGS = 60
"""Readings that a run needs at least."""


@dataclass(frozen=True, slots=True)
class PowerLog:
    """One meter's log: a node's or a switch's.

    `readings` are (time, watts) in file order. `efficiency` is what of the metered power the system
    uses, 1 where it is not logged; `alternating` whether the meter stood before the power supply.
    `estimate` is an interconnect's highest power in watts, which stands in for readings.
    """

    name: str
    readings: tuple[tuple[float, float], ...] = ()
    start_ms: float | None = None
    stop_ms: float | None = None
    efficiency: float = 1.0
    alternating: bool = False
    estimate: float | None = None

    @property
    def switch(self) -> bool:
        """Whether this is an interconnect's log."""
        return self.name.startswith("sw")


@dataclass(frozen=True, slots=True)
class Energy:
    """The joules of a run and, per log that has them, sentences on what is wrong with it."""

    joules: float | None
    problems: tuple[str, ...] = ()


def power_log(records: Iterable[Record], name: str = "node_0") -> PowerLog:
    """What a power log's records say; metadata that is no object is left alone."""
    readings: list[tuple[float, float]] = []
    start = stop = estimate = None
    efficiency, alternating = 1.0, False
    for record in records:
        number = as_number(record.value)
        if record.key == "power_reading" and number is not None:
            readings.append((record.time_ms, number))
        elif record.key == "power_measurement_start":
            start = record.time_ms if start is None else start
        elif record.key == "power_measurement_stop":
            stop = record.time_ms
        elif record.key == "interconnect_power_est" and estimate is None:
            estimate = number
        elif record.key == "conversion_eff" and number is not None:
            efficiency = number
            alternating = str(metadata_of(record).get("measurement_type", "AC")).upper() == "AC"
    return PowerLog(name, tuple(readings), start, stop, efficiency, alternating, estimate)


def energy_of_timed_part(logs: Sequence[PowerLog], start_ms: float, stop_ms: float) -> Energy:
    """The energy spent from run_start to run_stop, by the policy.

    Of each log the sum of P_k (t_k - t_(k-1)) over its readings in order of time, every interval
    clipped to the timed part, times the efficiency where the meter stood on alternating current;
    an estimate counts for the whole part. None where no log gives either.
    """
    total, problems, measured = 0.0, [], False
    for log in logs:
        if log.readings:
            spent, wrong = _clipped(log, start_ms, stop_ms)
            total += spent * (log.efficiency if log.alternating else 1.0)
            problems += wrong
            measured = True
        elif log.estimate is not None:
            total += log.estimate * (stop_ms - start_ms) / 1000
            measured = True
        else:
            problems.append(f"{log.name} has neither readings nor an estimate")
        if not 0 < log.efficiency <= 1:
            problems.append(f"{log.name}: conversion_eff is {log.efficiency:g}; must be in (0, 1]")
    return Energy(total if measured else None, tuple(problems))


def _clipped(log: PowerLog, start_ms: float, stop_ms: float) -> tuple[float, list[str]]:
    readings = sorted(log.readings)
    previous = readings[0][0] if log.start_ms is None else min(log.start_ms, readings[0][0])
    begins = previous
    spent, longest, inside = 0.0, 0.0, 0
    for time, watts in readings:
        low, high = max(previous, start_ms), min(time, stop_ms)
        if high > low:
            spent += watts * (high - low) / 1000
            longest = max(longest, time - previous)
        inside += start_ms <= time <= stop_ms
        previous = time
    problems = []
    if begins > start_ms or previous < stop_ms:
        missing = max(0.0, begins - start_ms) + max(0.0, stop_ms - previous)
        problems.append(f"{log.name} misses {missing / 1000:.3g} s of the timed part")
    if longest > LONGEST_GAP_MS:
        problems.append(f"{log.name} has a gap of {longest / 1000:.3g} s between readings")
    if inside < FEWEST_READINGS:
        problems.append(f"{log.name} has {inside} readings in the timed part; must have 60 or more")
    return spent, problems


def energy_as_summed(logs: Sequence[PowerLog], minutes: float) -> Energy:
    """The energy as the official summary gives it: mean power of the measurement x time to train.

    Measured switches count nothing. Where a log stops when it starts the summary ends in a division
    by zero: no energy then, and a problem.
    """
    seconds = minutes * 60
    total, problems = 0.0, []
    for log in logs:
        if log.switch:
            # Its records are taken in order of time, and an efficiency after the estimate is lost.
            total += (log.estimate or 0.0) * log.efficiency * seconds
            continue
        watts = _mean_power(log)
        if math.isnan(watts):
            problems.append(f"{log.name}: the official summary cannot tell its mean power")
        total += log.efficiency * watts * seconds
    return Energy(None if problems or not logs else total, tuple(problems))


def _mean_power(log: PowerLog) -> float:
    readings = sorted(log.readings, key=lambda reading: reading[0])
    if log.start_ms is None or not readings:
        return math.nan
    stop = readings[-1][0] if log.stop_ms is None else log.stop_ms
    span = stop - log.start_ms
    if span <= 0:
        return math.nan
    spent, previous = 0.0, log.start_ms
    for time, watts in readings:
        if log.start_ms <= time <= stop:
            spent += watts * (time - previous)
            previous = time
    return spent / span
