"""Runs whose checkpoints are evaluated after training, in any order: Qwen3.5 397B GRPO of 6.1."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.tools.live.guard import Guard
from podium.compliance.tools.live.watching.watched import Watched, WatchOptions
from podium.logging_spec.reader.read import parse_log
from podium.rules.catalogue import find_round
from podium.rules.convergence import policy_reader
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.run import Run
from tests.builders import START_MS, build

NAME = "qwen35_397b_grpo"
RULES = find_round("training", "6.1")
FIRST, BATCH = 4608, 256

QUALITY = f"closed.{NAME}.eval_accuracy"
SCHEDULE = "evaluation.off-schedule"
STOP = "evaluation.other-checkpoint"
COUNTED = "evaluation.counted-offline"


def samples(step: int) -> int:
    """Return the samples trained at a checkpoint; the first checkpoint is 1."""
    return FIRST + BATCH * (step - 1)


def log(
    steps: Sequence[int],
    *,
    passing: Sequence[int] = (2, 3),
    stop: int | None = None,
    minute: float | None = None,
) -> bytes:
    """Return a log of checkpoints 1 to 4, trained ten minutes apart and evaluated in this order.

    The checkpoints `passing` reach the target. run_stop belongs to checkpoint `stop`, which is the
    first passing checkpoint by default. It has the time of that checkpoint, or `minute`.
    """
    good = build("training", "6.1", "closed", NAME)
    lines = [line.bytes.decode() for line in good.lines[: good.where("run_start")[0]]]

    def add(minute: float, key: str, value: object = None, **metadata: object) -> None:
        time_ms = START_MS + int((10 + minute) * 60_000)
        record = {"key": key, "time_ms": time_ms, "value": value, "metadata": metadata}
        lines.append(f":::MLLOG {json.dumps(record)}")

    add(0, "run_start")
    add(0, "block_start", first_epoch_num=1, epoch_count=1)
    add(45, "block_stop", first_epoch_num=1)
    for place, step in enumerate(steps):
        at = {"samples_count": samples(step)}
        add(50 + 5 * place, "eval_start", **at)
        add(53 + 5 * place, "eval_accuracy", 0.7 if step in passing else 0.6, **at)
        add(54 + 5 * place, "eval_stop", **at)
    ends = min(passing) if stop is None else stop
    add(
        10 * ends if minute is None else minute,
        "run_stop",
        status="success",
        samples_count=samples(ends),
    )
    return "\n".join(["loading the data", *lines]).encode()


def findings(data: bytes, profile: Profile = Profile.POLICY) -> list[Finding]:
    """Return the findings on a log."""
    return judge_log(parse_log(data), RULES, profile, "result_0.txt").findings


def weights(data: bytes) -> dict[str, str]:
    """Return the rules that the policy profile reports, with their severities."""
    return {found.id: found.severity.value for found in findings(data)}


@pytest.mark.parametrize("steps", [[2], [1, 2], [1, 2, 3], [1, 2, 3, 4]], ids=str)
def test_checkpoints_in_order_are_accepted_if_they_begin_at_the_first(steps: list[int]) -> None:
    data = log(steps, passing=(1,) if steps == [2] else (2, 3))
    if steps == [2]:
        assert weights(data).keys() == {QUALITY, SCHEDULE, f"closed.{NAME}.target"}
    else:
        assert weights(data) == {}
        assert findings(data, Profile.VERIFIER) == []


@pytest.mark.parametrize("steps", [[2, 1], [3, 1, 2], [4, 3, 2, 1], [2, 1, 2]], ids=str)
def test_another_order_is_an_error_only_for_the_official_checker(steps: list[int]) -> None:
    assert weights(log(steps)) == {QUALITY: "warning"}
    for found in findings(log(steps)):
        assert found.stated_by is StatedBy.VERIFIER
        assert "in training order" in (found.hint or "")
    errors = findings(log(steps), Profile.VERIFIER)
    assert {(each.id, each.severity) for each in errors} == {(QUALITY, Severity.ERROR)}


@pytest.mark.parametrize("steps", [[1, 3], [3, 1], [1, 2, 4], [4, 2, 1]], ids=str)
def test_a_missing_checkpoint_is_an_error(steps: list[int]) -> None:
    data = log(steps, passing=(min(set(steps) - {1}),))
    assert weights(data) == {QUALITY: "error", SCHEDULE: "warning"}


@pytest.mark.parametrize("steps", [[0, 1, 2], [2, 3], [3, 2]], ids=str)
def test_a_first_checkpoint_at_another_step_is_an_error(steps: list[int]) -> None:
    found = {each.id: each for each in findings(log(steps))}
    assert {name: each.severity.value for name, each in found.items()} == {
        QUALITY: "error",
        SCHEDULE: "warning",
    }
    assert f"first evaluation is at {samples(min(steps))} samples; must be" in (
        found[SCHEDULE].message
    )


@pytest.mark.parametrize("steps", [[1, 2, 3], [3, 2, 1]], ids=str)
@pytest.mark.parametrize("stop", [1, 3])
def test_run_stop_must_belong_to_the_first_passing_checkpoint(steps: list[int], stop: int) -> None:
    found = {each.id: each for each in findings(log(steps, stop=stop))}
    assert found[STOP].severity is Severity.WARNING
    assert f"samples_count of run_stop is {samples(stop)}; must be {samples(2)}" in (
        found[STOP].message
    )
    assert STOP not in weights(log(steps))


def test_an_evaluation_within_the_timed_run_is_noted() -> None:
    at_the_start, after = log([1, 2], minute=55), log([1, 2], minute=55.01)
    assert weights(at_the_start) == {}
    assert weights(after) == {COUNTED: "note"}


def test_an_aborted_run_needs_no_passing_checkpoint() -> None:
    data = log([1, 2], passing=(9,), stop=2, minute=70).replace(b'"success"', b'"aborted"')
    assert not {STOP, COUNTED} & weights(data).keys()


def test_a_run_stop_without_a_position_is_checked_by_its_time() -> None:
    head, _, last = log([1, 2], stop=1).rpartition(b"\n")
    data = head + b"\n" + last.replace(f', "samples_count": {samples(1)}'.encode(), b"")
    assert weights(data) == {}


@pytest.mark.parametrize("steps", [[1, 2, 3], [3, 2, 1], [3, 1, 2]], ids=str)
def test_a_run_converges_at_the_first_passing_checkpoint_in_training(steps: list[int]) -> None:
    read = policy_reader.read(Run(parse_log(log(steps)).records), RULES, NAME)
    assert (read.converged, read.to_converge) == (True, samples(2))


@pytest.mark.parametrize("steps", [[1, 2, 3], [3, 2, 1], [2, 1, 2], [1, 3], [2, 3]], ids=str)
def test_the_guard_and_the_final_check_agree_at_the_end(steps: list[int]) -> None:
    data, guard = log(steps), Guard("6.1", "closed", NAME, advises=False)
    early: list[Finding] = []
    for record in parse_log(data).records:
        early += guard(record)
    guard.finish()
    # A finding whose severity rises at the end is reported again
    known = {found.id: found.severity.value for found in guard.findings}
    assert known == weights(data)
    # Until the end, a later evaluation may fill a gap
    assert SCHEDULE not in {found.id for found in early}
    assert all(found.severity is not Severity.ERROR for found in early)


def test_a_watched_run_lists_its_checkpoints_in_training_order(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(log([3, 2, 1]) + b"\n")
    watched = Watched(str(path), WatchOptions("training", "6.1"))
    while watched.poll():
        pass
    status = watched.status(0)
    assert status.reached == samples(2)
    assert [point.position for point in status.points] == [samples(n) for n in (1, 2, 3)]
    assert status.run_minutes == 20
    assert status.forecast is None
