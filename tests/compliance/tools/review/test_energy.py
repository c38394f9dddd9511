"""Energy in a review: the official figure, podium's own figure, or a reason for a blank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.cli import entry as cli
from podium.compliance.exit_codes import Exit
from tests.compliance.tools.review.rounds import NAME
from tests.compliance.trees import Submission, usual

WATTS = 4000.0


def record(time: float, key: str, value: Any = None) -> str:
    members = {"namespace": "", "time_ms": int(time), "event_type": "POINT_IN_TIME", "key": key}
    return f":::MLLOG {json.dumps(members | {'value': value, 'metadata': {}})}\n"


def metered(tree: Submission, *, stopped: bool = True) -> None:
    """Add power logs of one node to each run; without `stopped`, they stop when they start."""
    for number in range(3):
        folder = tree.root / tree.folder()
        log = (folder / f"result_{number}.txt").read_text(encoding="utf-8")
        times = {
            key: json.loads(line.partition("MLLOG ")[2])["time_ms"]
            for line in log.splitlines()
            for key in ("run_start", "run_stop")
            if f'"{key}"' in line
        }
        start, stop = times["run_start"], times["run_stop"]
        lines = [record(start, "power_measurement_start")]
        lines += [
            record(time, "power_reading", WATTS) for time in range(start, int(stop) + 5000, 5000)
        ]
        lines.append(record(stop if stopped else start, "power_measurement_stop"))
        place = folder / "power" / f"result_{number}" / "node_0.txt"
        place.parent.mkdir(parents=True)
        place.write_text("".join(lines), encoding="utf-8")


def reviewed(place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    words = ["review", str(place / NAME), "--format", "json", "-q"]
    assert cli.run(words) in (Exit.CLEAN, Exit.FOUND)
    (found,) = json.loads(capsys.readouterr().out)["results"]
    return dict(found)


def test_the_official_energy_agrees_with_the_score_of_the_verifier_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = usual(tmp_path / NAME)
    metered(tree)
    found = reviewed(tmp_path, capsys)
    words = ["score", str(tree.root), "--profile", "verifier", "--format", "json"]
    assert cli.run(words) in (Exit.CLEAN, Exit.FOUND)
    (scored,) = json.loads(capsys.readouterr().out)["results"]
    assert found["official_joules"] == pytest.approx(
        scored.get("scaled_energy_joules") or scored["energy_joules"]
    )
    assert found["energy_gap"] == ""
    # The figures differ: the official summary weights readings by the marks of the measurement
    assert found["joules"] != found["official_joules"]


def test_a_missing_energy_has_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metered(usual(tmp_path / NAME), stopped=False)
    found = reviewed(tmp_path, capsys)
    assert found["official_joules"] is None
    assert "stops when it starts" in found["energy_gap"]


def test_a_result_without_power_logs_has_no_energy_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual(tmp_path / NAME)
    found = reviewed(tmp_path, capsys)
    assert (found["official_joules"], found["joules"], found["energy_gap"]) == (None, None, "")
