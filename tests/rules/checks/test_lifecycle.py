"""Markers, clock, status and caches of a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podium.rules.checks.excerpt import at
from podium.rules.checks.lifecycle import init_limit

from .conftest import ROUNDS, GoodLog

Make = Callable[[], GoodLog]


def test_a_good_log_has_no_findings(good: Make) -> None:
    assert good().faults() == []


@pytest.mark.parametrize("minute", [-0.5, 0.5, 25, 30.9])
def test_a_second_run_start_is_reported(good: Make, minute: float) -> None:
    assert good().add(at(minute, "run_start")).faults() == ["run.repeated-marker"]


def test_a_second_run_stop_with_another_status_is_reported(good: Make) -> None:
    log = good().add(at(32, "run_stop", status="aborted"))
    assert log.faults() == ["run.repeated-marker"]


@pytest.mark.parametrize("key", ["run_start", "run_stop", "init_stop"])
def test_a_repeated_line_is_accepted(good: Make, key: str) -> None:
    log = good()
    log.records.insert(log.of(key), log.records[log.of(key)])
    assert log.faults() == []


@pytest.mark.parametrize("status", ["done", "succuss", "", None, True, ["success"]])
def test_an_unknown_status_is_reported(good: Make, status: object) -> None:
    assert good().put(at(31, "run_stop", status=status)).faults() == ["run.unknown-status"]


@pytest.mark.parametrize("rules", ["training 0.6", "training 2.0", "training 5.1"])
def test_abort_is_read_as_aborted(good: Make, rules: str) -> None:
    log = good().put(at(31, "run_stop", status="abort"))
    log.rules = ROUNDS[rules]
    assert "run.unknown-status" not in log.faults()
    assert "run.not-converged" in log.faults()


def test_an_aborted_run_is_noted(good: Make) -> None:
    assert good().put(at(31, "run_stop", status="aborted")).faults() == ["run.not-converged"]


@pytest.mark.parametrize(
    ("rules", "division", "benchmark", "minutes"),
    [
        ("training 0.6", "closed", "resnet", 20),
        ("training 0.7", "open", "resnet", 20),
        ("training 1.0", "closed", "bert", 30),
        ("training 1.1", "closed", "bert", 20),
        ("training 2.0", "closed", "bert", 30),
        ("training 2.0", "open", "bert", 240),
        ("training 3.0", "closed", "gpt3", 60),
        ("training 3.0", "open", "gpt3", 240),
        ("training 3.0", "closed", "bert", 30),
        ("training 3.1", "closed", "gpt3", 30),
        ("training 6.1", "closed", "llama31_8b", 30),
        ("hpc 1.0", "open", "cosmoflow", 30),
        ("hpc 3.0", "open", "cosmoflow", 240),
    ],
)
def test_the_initialization_limit_depends_on_round_and_benchmark(
    rules: str, division: str, benchmark: str, minutes: float
) -> None:
    assert init_limit(GoodLog([], benchmark, rules, division=division).context) == minutes


@pytest.mark.parametrize(("began", "faults"), [(-30, []), (-30.001, ["run.late-start"])])
def test_run_start_may_come_exactly_at_the_limit(
    good: Make, began: float, faults: list[str]
) -> None:
    assert good().put(at(began, "init_start")).faults() == faults


def test_the_earliest_init_start_counts(good: Make) -> None:
    log = good()
    log.records.insert(1, log.records[0])
    assert log.move("init_start", -40, which=1).faults() == ["run.late-start"]


def test_a_stop_before_run_start_is_reported(good: Make) -> None:
    assert "run.times-not-physical" in good().move("run_stop", -0.5).faults()


@pytest.mark.parametrize(("key", "minute"), [("init_stop", -11), ("init_stop", 1)])
def test_markers_that_are_out_of_order_in_time_are_reported(
    good: Make, key: str, minute: float
) -> None:
    assert good().move(key, minute).faults() == ["run.times-not-physical"]


def test_run_start_before_init_start_is_reported(good: Make) -> None:
    log = good().drop("init_stop").put(at(0.5, "init_start"))
    assert log.faults() == ["run.times-not-physical"]


def test_a_clock_that_is_not_set_is_noted(good: Make) -> None:
    log = good()
    offset = log.records[0].time_ms
    log.records = [
        type(record)(record.key, record.time_ms - offset, record.value, record.metadata)
        for record in log.records
    ]
    assert log.faults() == ["run.clock-implausible"]


@pytest.mark.parametrize("value", [False, "false", "False"])
def test_caches_that_are_not_cleared_are_reported(good: Make, value: object) -> None:
    assert good().put(at(-9, "cache_clear", value)).faults() == ["run.cache-not-cleared"]


@pytest.mark.parametrize("value", [True, None, "True", ""])
def test_a_cache_clear_record_may_have_no_value(good: Make, value: object) -> None:
    assert good().put(at(-9, "cache_clear", value)).faults() == []


def test_a_wrong_time_of_run_start_is_not_reported_as_a_cache_error(good: Make) -> None:
    assert good().put(at(-20, "run_start")).faults() == ["run.times-not-physical"]


def test_caches_must_be_cleared_before_the_run(good: Make) -> None:
    assert good().put(at(5, "cache_clear", True)).faults() == ["run.cache-not-cleared"]
    both = good().put(at(-9, "cache_clear", True), at(5, "cache_clear", True))
    assert both.faults() == []
