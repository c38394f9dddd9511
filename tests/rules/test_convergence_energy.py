"""Energy of a run from power logs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logging_spec.record import Record
from rules.convergence.energy import (
    PowerLog,
    energy_as_summed,
    energy_of_timed_part,
    power_log,
)

# --- energy ---


def even(name: str = "node_0", watts: float = 100, step: int = 1000, **more: Any) -> PowerLog:
    readings = tuple((float(time), watts) for time in range(0, 200_001, step))
    return PowerLog(name, readings, 0, **more)


def test_energy_is_that_of_the_timed_part() -> None:
    found = energy_of_timed_part([even()], 50_500, 150_500)
    assert found.joules == pytest.approx(100 * 100)
    assert found.problems == ()
    idle = PowerLog("node_0", ((0, 1.0), *((60_000.0 + t, 100.0) for t in range(0, 100_000, 1000))))
    assert energy_of_timed_part([idle], 61_000, 131_000).joules == pytest.approx(7000)


def test_energy_sums_nodes_switches_and_estimates() -> None:
    logs = [even(), even("node_1"), even("sw_0", 10), PowerLog("sw_1", estimate=5)]
    assert energy_of_timed_part(logs, 0, 100_000).joules == pytest.approx(21_500)
    assert energy_as_summed(logs, 100 / 60).joules == pytest.approx(20_500)


def test_efficiency_counts_on_alternating_current_only() -> None:
    alternating = even(efficiency=0.5, alternating=True)
    assert energy_of_timed_part([alternating], 0, 100_000).joules == pytest.approx(5000)
    direct = even(efficiency=0.5)
    assert energy_of_timed_part([direct], 0, 100_000).joules == pytest.approx(10_000)
    assert "must be in (0, 1]" in energy_of_timed_part([even(efficiency=1.2)], 0, 1e5).problems[0]


def test_what_is_wrong_with_readings_is_named() -> None:
    assert "misses 10 s" in energy_of_timed_part([even()], 100_000, 210_000).problems[0]
    assert "gap of 2 s" in energy_of_timed_part([even(step=2000)], 0, 200_000).problems[0]
    assert "must have 60" in energy_of_timed_part([even()], 0, 20_000).problems[0]
    empty = energy_of_timed_part([PowerLog("node_0")], 0, 1)
    assert empty.joules is None
    assert "neither readings nor an estimate" in empty.problems[0]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 1e5)), min_size=2), st.randoms())
def test_order_of_readings_does_not_matter(readings: list[Any], rng: Any) -> None:
    shuffled = readings[:]
    rng.shuffle(shuffled)
    ours = [energy_of_timed_part([PowerLog("n", tuple(r))], 10, 9e5) for r in (readings, shuffled)]
    assert ours[0] == ours[1]


def test_published_power_logs_are_read() -> None:
    start = Record("power_measurement_start", 1.0, "null", "")
    reading = Record("power_reading", 3.0, 1987, "")
    stop = Record("power_measurement_stop", 1.0, "null", "")
    log = power_log([start, reading, stop], "node_0")
    assert (log.readings, log.start_ms, log.stop_ms) == (((3.0, 1987.0),), 1.0, 1.0)
    assert energy_as_summed([log], 1).joules is None
    assert energy_as_summed([], 1).joules is None
    metered = power_log([Record("conversion_eff", 0, 0.9, {"measurement_type": "AC"})])
    assert (metered.efficiency, metered.alternating) == (0.9, True)
