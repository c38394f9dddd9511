"""Evaluations after the target, evaluations outside the timed part, and numbers of epochs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from podium.rules.checks.excerpt import at

from .conftest import GoodLog

Make = Callable[[], GoodLog]

POINTS = [12_288, 24_576, 36_864, 49_152, 61_440]


def outcomes(*qualities: float) -> list[str]:
    """Return the outcomes of evaluations at the points of a good log."""
    return [
        at(10 * (place + 1), "eval_accuracy", quality, samples_count=POINTS[place])
        for place, quality in enumerate(qualities)
    ]


def test_a_run_ends_with_the_evaluation_that_reaches_the_target() -> None:
    assert GoodLog(POINTS).put(*outcomes(3.9, 3.7, 3.5, 3.4, 3.3)).faults() == []


def test_two_evaluations_after_the_target_are_reported() -> None:
    log = GoodLog(POINTS).put(*outcomes(3.9, 3.7, 3.3, 3.2, 3.1))
    (violation,) = log.violations()["evaluation.after-target"]
    assert violation.message == (
        "run_stop is 2 evaluations after the target was reached at samples_count 36864; must "
        "follow that evaluation"
    )


def test_one_evaluation_after_the_target_is_accepted() -> None:
    assert GoodLog(POINTS).put(*outcomes(3.9, 3.7, 3.5, 3.3, 3.2)).faults() == []


def test_the_last_quality_must_reach_the_target() -> None:
    log = GoodLog(POINTS).put(*outcomes(3.9, 3.7, 3.5, 3.2, 3.4))
    (violation,) = log.violations()["evaluation.after-target"]
    assert violation.message.startswith("the last quality before run_stop is 3.4, although")


def test_ranks_may_repeat_an_outcome() -> None:
    log = GoodLog(POINTS)
    place = [i for i, record in enumerate(log.records) if record.key == "eval_accuracy"][-1]
    log.records[place:place] = [log.records[place]] * 3
    assert log.faults() == []


def test_a_missed_target_is_not_reported_by_these_checks() -> None:
    assert GoodLog(POINTS).put(*outcomes(3.9, 3.8, 3.7, 3.6, 3.5)).faults() == []


def test_open_runs_may_continue_after_the_target() -> None:
    log = GoodLog(POINTS, division="open").put(*outcomes(3.9, 3.2, 3.5, 3.6, 3.7))
    assert log.faults() == []


def test_a_stop_before_the_last_quality_is_reported() -> None:
    log = GoodLog(POINTS).move("run_stop", 49.5)
    assert log.faults() == ["evaluation.stop-before-target", "evaluation.untimed"]


@pytest.mark.parametrize(("early_ms", "faulty"), [(5, False), (100, False), (101, True)])
def test_run_stop_may_precede_the_last_quality_by_100_ms(early_ms: int, faulty: bool) -> None:
    log = GoodLog(POINTS).move("run_stop", 50 - early_ms / 60_000)
    assert ("evaluation.stop-before-target" in log.faults()) is faulty


def test_stable_diffusion_may_be_evaluated_after_run_stop() -> None:
    log = GoodLog([512_000, 1_024_000], "stable_diffusion", "training 5.0", batch=512)
    assert log.move("run_stop", 12).faults() == []


@pytest.mark.parametrize(("minute", "faults"), [(-0.01, ["evaluation.before-run"]), (0, [])])
def test_evaluations_before_the_run_are_reported(minute: float, faults: list[str]) -> None:
    log = GoodLog(POINTS).add(at(minute, "eval_accuracy", 9.9, samples_count=0))
    assert log.drop("eval_start").faults() == faults


@pytest.mark.parametrize(
    ("rules", "faults"),
    [("training 5.0", ["evaluation.epoch-numbering"]), ("training 0.6", [])],
)
def test_epochs_are_numbered_from_one(rules: str, faults: list[str]) -> None:
    benchmark = "retinanet" if rules == "training 5.0" else "maskrcnn"
    log = GoodLog([0, 1, 2, 3], benchmark, rules, batch=256, unit="epoch_num")
    assert log.faults() == faults


def test_an_evaluation_before_training_may_have_epoch_zero() -> None:
    log = GoodLog([0, 4, 8, 12], "resnet", "training 3.0", batch=2560, unit="epoch_num")
    assert log.faults() == []


def test_epoch_start_from_zero_is_noted() -> None:
    log = GoodLog([1, 2, 3], "retinanet", "training 5.0", batch=256, unit="epoch_num")
    log.add(at(0.5, "epoch_start", epoch_num=0), at(9, "epoch_stop", epoch_num=0))
    assert log.faults() == ["epoch.numbered-from-zero"]


@pytest.mark.parametrize(
    ("quality", "faults"),
    [
        ({"BBOX": 0.38, "SEGM": 0.3}, []),
        ({"BBOX": 0.38, "SEGM": 0.34}, ["evaluation.after-target"]),
    ],
)
def test_a_target_is_reached_only_if_both_parts_are_reached(
    quality: object, faults: list[str]
) -> None:
    log = GoodLog([1, 2, 3, 4], "maskrcnn", "training 3.1", batch=64, unit="epoch_num")
    record = log.records[log.of("eval_accuracy")]
    log.records[log.of("eval_accuracy")] = type(record)(
        record.key, record.time_ms, quality, record.metadata
    )
    assert log.faults() == faults
