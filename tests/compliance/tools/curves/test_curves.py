"""`podium rcp curves`: files written by TensorBoard 2.21 and W&B 0.31, compared with a log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from podium.logging_spec import Logger
from tests.compliance.command_line import podium

RECORDED = Path(__file__).parent / "recorded"
WANDB, EVENTS = RECORDED / "run.wandb", RECORDED / "events.out.tfevents.1"
VALUES = [0.55, 0.6, 0.65, 0.7, 0.75]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with the values of the trackers, except that its last value is slightly higher."""
    path = tmp_path / "result_0.txt"
    with Logger(path) as logger:
        for number, value in enumerate(VALUES, 1):
            last = 0.01 * (number == len(VALUES))
            logger.event("eval_accuracy", value + last, {"samples_count": number * 1024})
    return path


def curves(*words: object) -> dict[str, dict[str, object]]:
    """Return the curves in the JSON output, by quantity."""
    result = podium("rcp", "curves", *words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return {each["name"]: each for each in json.loads(result.stdout)["curves"]}


def pairs(curve: dict[str, object]) -> list[tuple[float, float]]:
    points: list[dict[str, float]] = curve["points"]  # type: ignore[assignment]
    return [(each["at"], round(each["value"], 6)) for each in points]


def test_event_files_with_numbers_and_one_element_tensors_are_read() -> None:
    found = curves(EVENTS)
    assert pairs(found["eval/accuracy"]) == [(10 * n, v) for n, v in enumerate(VALUES, 1)]
    assert pairs(found["train/loss"])[1] == (20, 1.5)
    assert pairs(found["eval/f1"]) == [(60, 0.25)]
    assert found["eval/f1"]["points"][0]["time"] == 1.7e9 + 9  # type: ignore[index]


def test_wandb_runs_of_several_blocks_are_read_by_step_and_by_quantity() -> None:
    assert WANDB.stat().st_size > 40_000  # one row is longer than a block
    assert pairs(curves(WANDB)["eval/accuracy"]) == [(10 * n, v) for n, v in enumerate(VALUES, 1)]
    found = curves(WANDB, "--counted-by", "samples")
    assert pairs(found["eval/accuracy"]) == [(1024 * n, v) for n, v in enumerate(VALUES, 1)]
    assert found["eval/accuracy"]["unit"] == "samples"
    assert set(found) == {"eval/accuracy", "train/loss"}  # no strings or internal values


@pytest.mark.parametrize(
    "words", [(WANDB, "--counted-by", "samples"), (EVENTS, "--each", 102.4)], ids=["wandb", "tb"]
)
def test_a_tracker_is_compared_with_the_log(log: Path, words: tuple[object, ...]) -> None:
    result = podium("rcp", "curves", log, *words, "--metric", "eval/accuracy")
    assert result.exit_code == 0
    assert [line.split()[-2:] for line in result.stdout.splitlines() if "eval/acc" in line] == [
        ["5", "0.01"]
    ]
    assert "train/loss" not in result.stdout


def test_a_truncated_recording_is_read_as_far_as_possible(tmp_path: Path) -> None:
    for source in (WANDB, EVENTS):
        whole = source.read_bytes()
        heights = []
        for length in range(0, len(whole), max(7, len(whole) // 40)):
            path = tmp_path / source.name
            path.write_bytes(whole[:length])
            result = podium("rcp", "curves", path, "--format", "csv")
            assert result.exit_code in (0, 2), result.output
            heights.append(len(result.stdout.splitlines()))
        assert heights == sorted(heights)
        assert heights[-1] > 9


@pytest.mark.parametrize("name", ["a.wandb", "events.out.tfevents.9"])
@pytest.mark.parametrize(
    "content", [b"", b"nothing of the kind" * 9, b":W&B\xe1\xbe\0" + b"\xff" * 99]
)
def test_a_file_that_is_not_a_recording_is_reported_in_one_line(
    tmp_path: Path, name: str, content: bytes
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    result = podium("rcp", "curves", path)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert str(path) in result.stderr


def test_an_unknown_quantity_is_reported_with_the_available_quantities() -> None:
    result = podium("rcp", "curves", EVENTS, "--metric", "accuracy")
    assert result.exit_code == 2
    assert "found: eval/accuracy, eval/f1, train/loss" in result.stderr


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_plot_shows_each_quantity_with_the_log(log: Path, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "runs"
    folder.mkdir()
    shutil.copy(WANDB, folder)
    path = tmp_path / f"plot{suffix}"
    assert podium("rcp", "curves", log, folder, "--plot", path).exit_code == 0
    assert path.stat().st_size > 5000
    if suffix == ".svg":
        assert path.read_text().count("<!-- result_0.txt -->") == 3  # accuracy, loss, samples


def test_csv_output_has_a_row_for_each_point(log: Path) -> None:
    result = podium("rcp", "curves", log, EVENTS, "--format", "csv")
    rows = result.stdout.splitlines()
    assert rows[0] == "path,source,name,unit,at,time,value"
    assert len(rows) == 1 + 5 + 11
    assert rows[1].split(",")[1:5] == ["log", "quality", "samples_count", "1024.0"]
