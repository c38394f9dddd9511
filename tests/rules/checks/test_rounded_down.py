"""Evaluation intervals that the batch does not divide."""

from __future__ import annotations

import pytest

from .conftest import GoodLog

RULE = "evaluation.rounded-down"


@pytest.mark.parametrize(
    ("every", "found"),
    [(12_000, True), (13_000, False), (11_000, False)],
)
def test_the_interval_is_rounded_up(every: int, found: bool) -> None:
    log = GoodLog([every, 2 * every, 3 * every], rules="training 6.1", batch=1000)
    assert (RULE in log.faults()) == found


def test_the_finding_gives_both_intervals() -> None:
    log = GoodLog([12_000, 24_000, 36_000], rules="training 6.1", batch=1000)
    [violation] = log.violations()[RULE]
    assert violation.message == (
        "evaluations come every 12000 samples, rounded down to whole batches; must be every 13000 "
        "samples"
    )


def test_a_batch_that_divides_the_interval_is_not_rounded() -> None:
    assert RULE not in GoodLog([12_288, 24_576], rules="training 6.1", batch=32).faults()


def test_llama2_was_accepted_either_way() -> None:
    log = GoodLog([1950, 2275, 2600], "llama2_70b_lora", "training 6.1", batch=325)
    assert RULE not in log.faults()
