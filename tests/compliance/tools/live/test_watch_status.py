"""The status that `podium watch` reports for a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from podium.compliance.exit_codes import Exit
from podium.compliance.tools.live.partial.declared import Expected
from podium.compliance.tools.live.watching.forecast import Point, forecast, goal_of
from podium.compliance.tools.live.watching.page import page, row, sparkline
from podium.compliance.tools.live.watching.status import Status
from podium.compliance.tools.live.watching.watched import Watched, WatchOptions
from podium.rules.catalogue import find_round
from podium.rules.model.schedule import Schedule
from podium.rules.training.shared.schedules import V5_1
from tests.builders import build
from tests.compliance.command_line import podium
from tests.compliance.tools.live.test_watch import (
    WATCH_OPTIONS,
    Clock,
    append,
    good,
    until,
    watched,
)


def status_of(data: bytes, tmp_path: Path, wishes: WatchOptions = WATCH_OPTIONS) -> Status:
    path = tmp_path / "result_0.txt"
    path.write_bytes(data)
    log = Watched(str(path), wishes)
    log.poll()
    log.tail.close()
    return log.status(0)


@pytest.mark.parametrize(
    ("key", "phase"),
    [
        ("submission_org", "preparing"),
        ("init_start", "init"),
        ("init_stop", "ready"),
        ("run_start", "running"),
        ("run_stop", "stopped"),
    ],
)
def test_the_phase_follows_the_markers(key: str, phase: str, tmp_path: Path) -> None:
    assert status_of(until(key), tmp_path).phase == phase


def test_the_status_has_limits_evaluations_and_missing_keys(tmp_path: Path) -> None:
    log = good().set("eval_accuracy", 4.0)
    found = status_of(until("run_stop", log).rsplit(b"\n", 2)[0] + b"\n", tmp_path)
    assert (found.benchmark, found.division) == ("llama31_8b", "closed")
    assert found.init_limit == 30
    assert [point.quality for point in found.points] == [4.0, 4.0]
    assert found.next_due == found.points[-1].position + found.points[0].position
    assert [each.key for each in found.missing] == ["run_stop"]
    assert found.target == "at most 3.3"


def test_an_exceeded_limit_is_lost_before_the_next_record(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(until("init_start"))
    log = Watched(str(path), WATCH_OPTIONS)
    log.poll()
    began = log.guard.run.records[-1].time_ms
    assert log.status(began + 29 * 60_000).lost == []
    assert log.status(began + 31 * 60_000).lost == ["init_stop within 30 min of init_start"]
    # An old log does not belong to a run in progress, so the current time does not count.
    assert log.status(began + 2 * 86_400_000).lost == []


def test_a_key_that_comes_too_late_is_lost(tmp_path: Path) -> None:
    log = good().drop("init_start")
    lost = status_of(until("run_start", log), tmp_path).lost
    assert lost == ["init_start must come before init_stop"]


def test_json_output_with_once_has_findings_and_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(good().set("opt_adamw_beta_2", 0.9).bytes())
    assert watched(path, Clock(), once=True, format="json") is Exit.FOUND
    reported = json.loads(capsys.readouterr().out)
    assert reported["schema"] == "podium.watch/1"
    assert reported["logs"][0]["phase"] == "stopped"
    ids = [
        [f["id"] for f in each["findings"]] for each in (reported["logs"][0], reported["report"])
    ]
    assert ids == [["closed.llama31_8b.opt_adamw_beta_2"]] * 2


def test_json_output_has_a_line_for_each_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result_0.txt"
    first = until("run_start")
    path.write_bytes(first)
    clock = Clock(lambda: None, append(path, good().bytes()[len(first) :]))
    watched(path, clock, format="json")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["logs"][0]["phase"] for line in lines] == ["running", "stopped", "stopped"]
    assert [line["done"] for line in lines] == [False, False, True]


def test_an_invalid_record_is_reported_during_the_run(tmp_path: Path) -> None:
    found = status_of(until("run_start") + b":::MLLOG {cut\n", tmp_path)
    assert [each.id for each in found.findings] == ["log.not-json"]


def test_control_characters_in_a_log_are_not_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(good().set("opt_name", "\x1b[2Jx").meta("run_stop", status="\x1b[2J").bytes())
    for once in (True, False):
        watched(path, Clock(), once=once)
        assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 80])
def test_lines_fit_the_width_and_height_of_the_page(width: int, tmp_path: Path) -> None:
    log = good().set("opt_name", "x" * 300).set("eval_accuracy", 4.0)
    statuses = [status_of(until("run_stop", log), tmp_path)] * 3
    for height in (100, 12, 4):
        lines = page(statuses, width, height)
        assert all(len(line) <= width for line, _ in lines)
        assert len(lines) <= height
    assert "4 ▄▄" in row(statuses[0], 80)[0]


# --- components ---


def test_a_sparkline_spans_the_lowest_and_the_highest_value() -> None:
    assert sparkline([1, 2, 3]) == "▁▅█"
    assert sparkline([2, 2]) == "▄▄"
    assert sparkline([None, 1.0, float("nan"), 2.0]) == " ▁ █"
    assert sparkline([]) == ""
    assert len(sparkline([*map(float, range(99))])) == 24


def points(*qualities: float) -> list[Point]:
    return [Point(12_288.0 * n, 2.0 * n, q) for n, q in enumerate(qualities, 1)]


def schedule() -> Schedule:
    return V5_1["llama31_8b"]


def goal() -> Any:
    from podium.rules.checks.points import target_of

    return goal_of(target_of(find_round("training", "6.1").context("closed", "llama31_8b")))


def test_a_run_is_projected_to_the_convergence_of_the_reference() -> None:
    due = schedule().due(1024)[0]
    found = forecast(points(4.0, 3.9), Expected(mean=100_000.0), goal(), due)
    assert found is not None
    assert found.position == 12_288 * 9  # the first evaluation at or after the mean
    assert found.minutes == pytest.approx(18.0)


def test_a_run_beyond_the_reference_is_projected_by_its_last_qualities() -> None:
    found = forecast(points(3.9, 3.8, 3.7, 3.6), Expected(mean=20_000.0), goal(), None)
    assert found is not None
    assert found.position == pytest.approx(12_288 * 7)


@pytest.mark.parametrize("qualities", [(3.9,), (3.9, 3.8), (3.7, 3.8, 3.9), (3.9, 3.9, 3.9)])
def test_a_run_without_a_trend_has_no_forecast(qualities: tuple[float, ...]) -> None:
    assert forecast(points(*qualities), Expected(), goal(), None) is None


def test_the_margin_of_a_run_at_its_target_uses_the_reached_position(tmp_path: Path) -> None:
    log = build("training", "5.0", "closed", "bert")
    found = status_of(log.bytes(), tmp_path, WatchOptions(round="5.0"))
    assert found.reached is not None
    assert found.expected.minimum is not None
    assert found.margin == found.reached - found.expected.minimum


# --- the command ---


def test_the_command_accepts_its_options(tmp_path: Path) -> None:
    path = tmp_path / "result_0.txt"
    path.write_bytes(good().bytes())
    result = podium("watch", path, "--once", "--round", "6.1", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["done"] is True


def test_importing_the_commands_loads_no_heavy_modules() -> None:
    import subprocess

    code = (
        "import sys; from podium.compliance.cli.judging import preflight, watch; "
        "heavy = ('podium.compliance.tools.live.guard', 'rich', 'scipy'); "
        "sys.exit(any(name in sys.modules for name in heavy))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_findings_in_a_growing_log_have_their_line_numbers(tmp_path: Path) -> None:
    data = b"noise\r\n" * 3 + good().bytes()
    found = status_of(data.replace(b'"opt_name", ', b'"opt_name" , '), tmp_path)
    assert found.findings == []
    broken = good().set("opt_name", "sgd")
    line = status_of(b"noise\r\n" * 3 + broken.bytes(), tmp_path).findings[0].line
    assert line == broken.line_of("opt_name") + 3


def test_a_status_can_be_encoded_as_json(tmp_path: Path) -> None:
    msgspec.json.encode(status_of(good().bytes(), tmp_path).to_dict())
