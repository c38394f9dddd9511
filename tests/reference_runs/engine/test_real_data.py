"""Datasets in their real format: when they are read, and what the log contains."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("torch")

from podium.compliance.cli.entry import run as command
from podium.reference_runs.benchmarks.unet3d.config import UNet3D
from podium.reference_runs.catalogue import find
from podium.reference_runs.engine.config import Config
from tests.locations import ROOT
from tests.reference_runs.datasets import LITTLE, settings

WITH_DATA = (*LITTLE,)


def podium(name: str, data: Path, logs: Path, *more: str, **changes: Any) -> tuple[int, str]:
    """Run a benchmark on real files and return the exit status and standard error."""
    words = ["run", name, "--scale", "reference", "--data", str(data), "--output", str(logs), "-q"]
    words += ["--device", "cpu", "--threads", "1", *settings(name, **changes), *more]
    out, err = io.StringIO(), io.StringIO()
    # U-Net would evaluate after 168 000 samples, even with a small dataset
    often = mock.patch.object(UNet3D, "evaluation_steps", Config.evaluation_steps)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), often:
        status = command(words)
    return status, err.getvalue()


def records(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line.partition(" ")[2]) for line in log.read_text().splitlines()]


def values(log: Path, key: str) -> list[Any]:
    return [record["value"] for record in records(log) if record["key"] == key]


# --- reads before the clock starts ---

AUDITED = """
import json, os, sys, time
from pathlib import Path

opened = []
root = os.path.realpath(sys.argv[1])

def hook(event, arguments):
    if event in ("open", "mmap.__new__", "os.listdir", "os.scandir", "glob.glob"):
        name = arguments[0] if arguments else None
        if isinstance(name, (str, bytes, os.PathLike)) and os.fspath(name):
            path = os.path.realpath(os.fsdecode(name))
            if path.startswith(root):
                # os.open has no mode; without one nothing is read by Python's streams
                how = event if event != "open" or arguments[1] is None else "read"
                opened.append((time.time_ns() // 1_000_000, how, os.path.relpath(path, root)))

import torch
torch.set_num_threads(1)
sys.path.insert(0, str(Path.cwd()))
from tests.reference_runs.engine.test_real_data import podium
from tests.reference_runs.datasets import LITTLE
logs = Path(sys.argv[2])
for name in sys.argv[3:]:
    data = Path(root) / name
    data.mkdir()
    LITTLE[name].write(data)
import numpy, PIL.Image
sys.addaudithook(hook)
for name in sys.argv[3:]:
    opened.clear()
    status, said = podium(name, Path(root) / name, logs / name)
    (logs / f"{name}.json").write_text(json.dumps([status, said, opened]))
"""
"""Write each benchmark's dataset, run it, and record the times at which its files were opened."""


def audited(tmp_path: Path, *chosen: str) -> None:
    data, logs = tmp_path / "data", tmp_path / "logs"
    data.mkdir()
    logs.mkdir()
    words = [sys.executable, "-c", AUDITED, str(data), str(logs), *chosen]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in chosen:
        status, said, opened = json.loads((logs / f"{name}.json").read_text())
        # A run this short may or may not reach its target
        assert status in (0, 1), said
        assert said == ""
        log = logs / name / "result_0.txt"
        times = {record["key"]: record["time_ms"] for record in records(log)}
        begin, networks = times["run_start"], LITTLE[name].networks
        before = [each for each in opened if each[0] < begin]
        late = [each for each in opened if each[0] >= begin]
        assert {path.split("/")[-1] for _, how, path in before if how == "read"} <= {*networks}
        assert late
        counts = [values(log, key) for key in ("train_samples", "eval_samples")]
        assert counts == [[each] for each in LITTLE[name].logged]


# Most of the time of the test is the start of the process
SOON = ("ncf", "rgat", "sentiment", "transformer")


@pytest.mark.parametrize(
    "chosen",
    [SOON, pytest.param(tuple(sorted({*WITH_DATA} - {*SOON})), marks=pytest.mark.long)],
    ids=["some", "others"],
)
def test_no_data_are_read_before_the_clock_starts(chosen: tuple[str, ...], tmp_path: Path) -> None:
    audited(tmp_path, *chosen)


# --- numbers of samples ---


@pytest.mark.parametrize("name", WITH_DATA)
def test_a_small_dataset_is_an_error_or_is_logged_with_its_size(name: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    LITTLE[name].write(data)
    found, evaluated = LITTLE[name].logged
    more = {"train_samples": found + 3}
    status, said = podium(name, data, tmp_path / "logs", **more)
    assert status == 2
    assert len(said.splitlines()) == 1, said
    assert LITTLE[name].short in said
    assert f" contains {found} " in said
    least = "at least " if find(name).reference().samples_are_least else ""
    assert f"; expected {least}{found + 3}; --allow-subset accepts this size" in said
    # The run did not train, so it has not written a log
    assert list((tmp_path / "logs").glob("*")) == []
    status, said = podium(name, data, tmp_path / "logs", "--allow-subset", **more)
    assert status in (0, 1), said
    log = tmp_path / "logs" / "result_0.txt"
    assert values(log, "train_samples") == [found]
    assert values(log, "submission_division") == ["open"]
    (note,) = [each for each in values(log, "podium_note") if "--allow-subset" in each]
    assert f"contains {found} training and {evaluated} evaluation samples" in note
    assert f"the benchmark's {least}{found + 3} and {evaluated}" in note
