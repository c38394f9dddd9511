"""Ends of runs: late stops, training after the target, and runs given up too early."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podium.rules.checks.excerpt import at

from .conftest import GoodLog

Good = Callable[[], GoodLog]

LATE, TRAINS_ON, GAVE_UP = "evaluation.late-stop", "evaluation.trains-on", "run.gave-up-early"


@pytest.mark.parametrize(("minute", "fault"), [(31, False), (40, False), (40.1, True), (60, True)])
def test_a_stop_over_an_interval_after_the_last_evaluation_is_noted(
    good: Good, minute: float, fault: bool
) -> None:
    """Evaluations are ten minutes apart, and the last is at 30 minutes."""
    log = good().put(at(minute, "run_stop", status="success"))
    assert (LATE in log.faults()) == fault


@pytest.mark.parametrize(("late", "fault"), [(4.9, False), (5.1, True)])
def test_a_stop_within_five_minutes_is_not_late(late: float, fault: bool) -> None:
    log = GoodLog([12_288])
    log.put(at(2, "eval_start", samples_count=12_288)).put(
        at(3, "eval_accuracy", 3.2, samples_count=12_288)
    )
    log.put(at(3 + late, "run_stop", status="success"))
    assert (LATE in log.faults()) == fault


def test_an_aborted_run_may_end_at_any_time(good: Good) -> None:
    assert LATE not in good().put(at(90, "run_stop", status="aborted")).faults()


def more_blocks(log: GoodLog, count: int) -> GoodLog:
    lines = [at(31 + n, "block_start", first_epoch_num=4 + n, epoch_count=1) for n in range(count)]
    stops = [at(31.5 + n, "block_stop", first_epoch_num=4 + n) for n in range(count)]
    return log.add(*lines, *stops).put(at(34, "run_stop", status="success"))


@pytest.mark.parametrize(("count", "fault"), [(0, False), (1, False), (2, True), (3, True)])
def test_blocks_after_the_target_are_reported(good: Good, count: int, fault: bool) -> None:
    assert (TRAINS_ON in more_blocks(good(), count).faults()) == fault


def test_a_block_that_ranks_repeat_counts_once(good: Good) -> None:
    again = at(31.1, "block_start", first_epoch_num=4, epoch_count=1)
    assert TRAINS_ON not in more_blocks(good(), 1).add(again, again).faults()


def test_blocks_after_a_missed_target_are_accepted(good: Good) -> None:
    log = good().put(at(30, "eval_accuracy", 3.4, samples_count=36_864))
    assert TRAINS_ON not in more_blocks(log, 3).faults()


def given_up(at_: float, rules: str = "training 4.0", batch: int = 56) -> GoodLog:
    log = GoodLog([at_], "unet3d", rules, batch=batch, unit="epoch_num")
    log.put(at(10, "eval_accuracy", 0.89, epoch_num=at_))
    return log.put(at(11, "run_stop", status="aborted"))


@pytest.mark.parametrize(
    ("epoch", "batch", "fault"),
    [
        (5000, 56, True),
        (9978, 56, True),
        (9980, 56, False),  # the last evaluation before the limit of 10 000
        (10_000, 56, False),
        (8700, 32, True),  # 192 samples in a padded epoch, 160 in an epoch without padding
        (8750, 32, False),
        (1_000_000, 56, True),  # later logs count samples under the same name
        (1_680_000, 56, False),
    ],
)
def test_unet3d_may_be_given_up_only_at_its_limit(epoch: float, batch: int, fault: bool) -> None:
    assert (GAVE_UP in given_up(epoch, batch=batch).faults()) == fault


def test_a_successful_run_may_end_at_any_time() -> None:
    log = given_up(5000).put(at(11, "run_stop", status="success"))
    assert GAVE_UP not in log.faults()


def test_runs_of_1_0_may_be_given_up_earlier() -> None:
    assert GAVE_UP not in given_up(5249, "training 1.0", 32).faults()
    assert GAVE_UP in given_up(5249, "training 1.1", 32).faults()


def test_other_benchmarks_have_no_limit(good: Good) -> None:
    log = good().put(at(30, "eval_accuracy", 3.4, samples_count=36_864))
    assert GAVE_UP not in log.put(at(31, "run_stop", status="aborted")).faults()
