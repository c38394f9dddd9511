"""Scheduled evaluation intervals that are not a multiple of the batch size."""

from __future__ import annotations

import pytest

from .conftest import GoodLog

RULE = "evaluation.rounded-down"


@pytest.mark.parametrize(
    ("every", "found"),
    [(12_000, True), (13_000, False), (11_000, False)],
)
def test_an_interval_that_is_rounded_down_is_reported(every: int, found: bool) -> None:
    log = GoodLog([every, 2 * every, 3 * every], rules="training 6.1", batch=1000)
    assert (RULE in log.faults()) == found


def test_the_finding_gives_both_intervals() -> None:
    log = GoodLog([12_000, 24_000, 36_000], rules="training 6.1", batch=1000)
    [violation] = log.violations()[RULE]
    assert violation.message == (
        "evaluations come every 12000 samples, rounded down to whole batches; must be every 13000 "
        "samples"
    )


def test_an_interval_that_the_batch_size_divides_is_accepted() -> None:
    assert RULE not in GoodLog([12_288, 24_576], rules="training 6.1", batch=32).faults()


def test_llama2_may_round_the_interval_down() -> None:
    log = GoodLog([1950, 2275, 2600], "llama2_70b_lora", "training 6.1", batch=325)
    assert RULE not in log.faults()
