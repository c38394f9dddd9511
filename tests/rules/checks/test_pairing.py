"""Pairs of start and stop records, and positions that agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podium.rules.checks.excerpt import at

from .conftest import GoodLog

Make = Callable[[], GoodLog]


def nth(log: GoodLog, key: str, which: int) -> int:
    """Return the index of a record of a key."""
    return [place for place, record in enumerate(log.records) if record.key == key][which]


def test_one_interval_may_be_open_at_the_end(good: Make) -> None:
    assert good().add(at(30.5, "block_start", first_epoch_num=4, epoch_count=1)).faults() == []


@pytest.mark.parametrize("name", ["block", "eval"])
def test_several_open_intervals_are_noted(good: Make, name: str) -> None:
    log = good()
    for _ in range(2):
        del log.records[nth(log, f"{name}_stop", 0)]
    assert log.faults() == ["pairing.unclosed-interval"]


def test_unpaired_epochs_are_noted(good: Make) -> None:
    log = good().add(at(1, "epoch_start", epoch_num=1), at(2, "epoch_start", epoch_num=2))
    assert log.faults() == ["pairing.unclosed-interval"]


@pytest.mark.parametrize("name", ["block", "eval"])
def test_a_stop_without_a_start_is_reported(good: Make, name: str) -> None:
    log = good()
    stop = log.records[log.of(f"{name}_stop")]
    log.records.append(stop)
    assert log.faults() == ["pairing.stop-without-start"]


def test_a_log_may_have_only_stops(good: Make) -> None:
    assert good().drop("eval_start", "block_start").faults() == []


def test_an_outcome_without_an_evaluation_is_reported(good: Make) -> None:
    log = good()
    del log.records[nth(log, "eval_start", 1)]
    del log.records[nth(log, "eval_stop", 1)]
    assert log.faults() == ["pairing.unstarted-evaluation"]


def test_an_evaluation_without_an_outcome_is_reported(good: Make) -> None:
    log = good()
    del log.records[nth(log, "eval_accuracy", 1)]
    [found] = log.violations()["pairing.evaluation-without-outcome"]
    assert found.position == nth(log, "eval_start", 1)
    assert "no eval_accuracy is logged for the evaluation at samples_count 24576 (1 of 3" in (
        found.message
    )


def test_an_interrupted_evaluation_needs_no_outcome(good: Make) -> None:
    log = good().add(at(30.5, "eval_start", samples_count=49_152))
    assert "pairing.evaluation-without-outcome" not in log.faults()


def test_outcomes_that_count_differently_are_not_compared(good: Make) -> None:
    log = good()
    for record in log.records:
        if record.key == "eval_accuracy" and isinstance(record.metadata, dict):
            record.metadata["samples_count"] += 1
    assert "pairing.evaluation-without-outcome" not in log.faults()


def test_starts_that_count_differently_are_not_compared(good: Make) -> None:
    log = (
        good()
        .drop("eval_stop", "eval_start")
        .add(*(at(minute, "eval_start", samples_count=minute) for minute in (9, 19, 29)))
    )
    assert log.faults() == ["pairing.unclosed-interval"]


def test_start_and_stop_of_an_evaluation_must_have_one_position(good: Make) -> None:
    log = good()
    place = nth(log, "eval_stop", 1)
    record = log.records[place]
    metadata = {"samples_count": 24_577}
    log.records[place] = type(record)(record.key, record.time_ms, record.value, metadata)
    assert log.faults() == ["pairing.evaluation-positions"]


def test_start_and_stop_of_a_block_must_have_one_position(good: Make) -> None:
    log = good().put(
        *(at(minute, "block_stop", first_epoch_num=minute) for minute in (8, 18, 28)),
    )
    assert log.faults() == ["pairing.block-positions"]


@pytest.mark.parametrize(
    ("said", "faults"),
    [
        ({"samples_count": 36_864}, []),
        ({"samples_count": 24_576}, ["pairing.final-position"]),
        ({"epoch_num": 3}, []),
    ],
)
def test_run_stop_must_have_the_position_of_the_last_evaluation(
    good: Make, said: dict[str, int], faults: list[str]
) -> None:
    assert good().put(at(31, "run_stop", status="success", **said)).faults() == faults


@pytest.mark.parametrize(("off", "faults"), [(32, []), (33, ["pairing.final-position"])])
def test_run_stop_may_be_one_batch_after_the_last_evaluation(
    good: Make, off: int, faults: list[str]
) -> None:
    last = good().records[nth(good(), "eval_accuracy", -1)].metadata["samples_count"]
    said = at(31, "run_stop", status="success", samples_count=last + off)
    assert good().put(said).faults() == faults


@pytest.mark.parametrize(
    ("counts", "faults"),
    [
        # Lengths of blocks, as MLPerf Common logs them; then positions
        ((1536, 384, 384), []),
        ((0, 12_288, 24_576), []),
        ((0, 12_288, 384), ["progress.not-monotonic"]),
    ],
)
def test_blocks_may_have_positions_or_lengths(
    good: Make, counts: tuple[int, ...], faults: list[str]
) -> None:
    lines = [at(10 * n + 1, "block_start", samples_count=c) for n, c in enumerate(counts)]
    assert good().drop("block_stop").put(*lines).faults() in (
        [*faults],
        ["pairing.unclosed-interval", *faults],
    )


@pytest.mark.parametrize(
    "line",
    [
        at(25, "block_start", first_epoch_num=1, epoch_count=1),
        at(30.5, "eval_accuracy", 3.2, samples_count=24_576),
    ],
)
def test_progress_that_goes_back_is_reported(good: Make, line: str) -> None:
    assert good().add(line).faults() == ["progress.not-monotonic"]


@pytest.mark.parametrize(("began", "faults"), [(18, []), (21, ["progress.not-monotonic"])])
def test_overlapping_evaluations_may_end_in_any_order(
    good: Make, began: int, faults: list[str]
) -> None:
    first, second = (
        at(m, "eval_start", samples_count=c) for m, c in ((17, 36_864), (began, 24_576))
    )
    log = (
        good()
        .drop("eval_start", "eval_stop", "eval_accuracy")
        .add(
            at(9, "eval_start", samples_count=12_288),
            at(10, "eval_accuracy", 3.5, samples_count=12_288),
            first,
            second,
            at(20, "eval_accuracy", 3.4, samples_count=36_864),
            at(22, "eval_accuracy", 3.2, samples_count=24_576),
        )
    )
    assert [each for each in log.faults() if each.startswith("progress")] == faults


def test_lines_may_be_in_any_order(good: Make) -> None:
    log = good()
    first, second = (nth(log, "eval_accuracy", which) for which in (0, 1))
    log.records[first], log.records[second] = log.records[second], log.records[first]
    assert log.faults() == []


@pytest.mark.parametrize(("first", "second", "fault"), [(20, 10, True), (10, 10, False)])
def test_swapped_times_of_two_evaluations_are_reported(
    good: Make, first: float, second: float, fault: bool
) -> None:
    """The lines are in the order of their positions, and only the times differ."""
    log = good().move("eval_accuracy", first, 0).move("eval_accuracy", second, 1)
    assert ("progress.not-monotonic" in log.faults()) == fault
