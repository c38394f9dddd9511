"""Speed within a run: short intervals, changes of speed, and throughput against the clock."""

from __future__ import annotations

import pytest

from podium.rules.checks.excerpt import at

from .conftest import GoodLog

CUT, CHANGES, DISAGREES = (
    "speed.cut-interval",
    "speed.changes",
    "speed.throughput-disagrees",
)


def paced(gaps: list[float], benchmark: str = "llama31_8b", division: str = "closed") -> GoodLog:
    """Return a run whose evaluations begin `gaps` minutes after each other."""
    log = GoodLog([12_288 * (n + 1) for n in range(len(gaps) + 1)], division=division)
    log.drop("block_start", "block_stop", "eval_start", "eval_stop", "eval_accuracy", "run_stop")
    minute, lines = 5.0, []
    for number, gap in enumerate([0.0, *gaps]):
        minute += gap
        where = {"samples_count": 12_288 * (number + 1)}
        lines.append(at(minute, "eval_start", **where))
        lines.append(at(minute + 0.01, "eval_accuracy", 3.4 - number * 0.01, **where))
    log.add(*lines, at(minute + 0.02, "run_stop", status="aborted"))
    log.benchmark = benchmark
    return log


def test_a_run_of_constant_speed_has_no_findings() -> None:
    assert not {CUT, CHANGES} & {*paced([5.0] * 12).faults()}


@pytest.mark.parametrize(("share", "fault"), [(0.41, False), (0.39, True), (0.1, True)])
def test_a_shortened_interval_is_reported(share: float, fault: bool) -> None:
    log = paced([5.0, 5.0, 5.0 * share, 5.0, 5.0, 5.0])
    assert (CUT in log.faults()) == fault


def test_the_finding_names_the_interval_and_its_usual_length() -> None:
    [violation] = paced([5.0, 5.0, 0.5, 5.0, 5.0]).violations()[CUT]
    assert violation.message == (
        "the interval up to samples_count 49152 takes 30 s, while 5 min is usual in this run; "
        "must be timed in full"
    )


@pytest.mark.parametrize(("minutes", "fault"), [(0.13, True), (0.1, False)])
def test_a_shortened_interval_of_a_few_seconds_is_accepted(minutes: float, fault: bool) -> None:
    log = paced([minutes, minutes, minutes / 4, minutes, minutes])
    assert (CUT in log.faults()) == fault


@pytest.mark.parametrize(("count", "fault"), [(3, False), (4, True)])
def test_three_intervals_are_too_few_for_a_usual_length(count: int, fault: bool) -> None:
    log = paced([5.0] * (count - 1) + [0.5])
    assert (CUT in log.faults()) == fault


def test_a_long_interval_is_not_reported_as_shortened() -> None:
    assert CUT not in paced([5.0, 5.0, 60.0, 5.0, 5.0]).faults()


def test_the_open_division_may_have_short_intervals() -> None:
    assert CUT not in paced([5.0, 5.0, 0.5, 5.0, 5.0], division="open").faults()


def test_an_evaluation_that_ranks_repeat_counts_once() -> None:
    log = paced([5.0, 5.0, 5.0, 5.0, 5.0])
    log.add(at(10.001, "eval_start", samples_count=24_576))
    assert CUT not in log.faults()


def test_intervals_after_run_stop_are_ignored() -> None:
    log = paced([5.0] * 6)
    log.add(*(at(40 + n / 10, "eval_start", samples_count=10**5 + n) for n in range(2)))
    assert CUT not in log.faults()


@pytest.mark.parametrize(("slower", "fault"), [(1.7, False), (1.8, True), (0.5, True)])
def test_halves_of_different_speed_are_noted(slower: float, fault: bool) -> None:
    log = paced([5.0] * 6 + [5.0 * slower] * 6)
    assert (CHANGES in log.faults()) == fault


@pytest.mark.parametrize(("count", "fault"), [(3, False), (4, True)])
def test_the_comparison_of_halves_needs_four_intervals_each(count: int, fault: bool) -> None:
    log = paced([5.0] * count + [10.0] * count)
    assert (CHANGES in log.faults()) == fault


def tracked(minutes: list[float], value: object = 100.0, unit: str = "step") -> GoodLog:
    log = GoodLog([12_288])
    metrics = {"throughput": value} if value is not None else {"loss": 1.0}
    return log.add(
        *(
            at(minute, "tracked_stats", metrics, **{unit: 1000 * (number + 1)})
            for number, minute in enumerate(minutes)
        )
    )


GAP = [5.0, 10.0, 15.0, 15.5, 20.5, 25.5, 30.5]


@pytest.mark.parametrize("unit", ["step", "samples_count", "epoch_num"])
def test_throughput_that_the_clock_contradicts_is_reported(unit: str) -> None:
    assert DISAGREES in tracked(GAP, unit=unit).faults()


@pytest.mark.parametrize(
    "minutes",
    [
        [5.0, 10.0, 15.0, 20.0, 25.0, 30.0],  # constant
        [5.0, 10.0, 15.0, 40.0, 45.0, 50.0],  # an evaluation in between
        [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 30.1],  # the last interval is incomplete
        [5.0, 5.01, 5.02, 5.021, 5.03, 5.04, 5.05],  # less than a second each
    ],
)
def test_throughput_that_agrees_with_the_clock_is_accepted(minutes: list[float]) -> None:
    assert DISAGREES not in tracked(minutes).faults()


def test_a_running_mean_of_throughput_is_accepted() -> None:
    """Minigo trains in bursts and logs the throughput since run_start."""
    log = GoodLog([12_288])
    for number, minute in enumerate(GAP):
        mean = 1000 * (number + 1) / minute
        log.add(at(minute, "tracked_stats", {"throughput": mean}, step=1000 * (number + 1)))
    assert DISAGREES not in log.faults()


@pytest.mark.parametrize("value", [None, "fast", float("nan"), True, 0])
def test_a_throughput_that_is_not_a_positive_number_is_ignored(value: object) -> None:
    assert DISAGREES not in tracked(GAP, value).faults()


def test_a_gap_among_many_records_is_reported() -> None:
    """Records every six seconds, of which ten minutes are squeezed into a few seconds."""
    even = [number / 10 for number in range(1000)]
    cut = [minute if minute < 40 else minute - 9 for minute in even if not 40 <= minute < 50]
    squeezed = [40 + number / 1000 for number in range(100)]
    assert DISAGREES not in tracked(even).faults()
    assert DISAGREES in tracked(sorted([*cut, *squeezed])).faults()
