"""Studies: profiles of one trainer in several settings, and of several models on devices."""

from __future__ import annotations

import json
import math
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from podium.compliance.reporting.profiled.page import render_study
from podium.reference_runs.profiling.studies.devices import compared
from podium.reference_runs.profiling.studies.running import (
    batch_sizes,
    settings_of,
    studied,
)
from podium.reference_runs.profiling.studies.study import Study
from podium.reference_runs.profiling.studies.text import study_text
from tests.compliance.command_line import podium

PARTS = {"communication, exposed": 4.0, "communication, overlapped": 1.0, "forward": 20.0}


def profile(step_ms: float = 50.0, **changes: Any) -> dict[str, Any]:
    """The fields of a profile.json that studies read."""
    plain = {
        "benchmark": "ncf",
        "scale": "smoke",
        "precision": "fp32",
        "compiled": False,
        "ranks": 1,
        "device_name": "a device",
        "global_batch_size": 100,
        "last_step": 1000,
        "levels": [{"level": "bare", "step_ms": 1.0}, {"level": "run", "step_ms": step_ms}],
        "processors": [0.5],
        "intervals": [{"kind": "block"}, {"kind": "evaluation"}],
        "usage": [
            {"interval": 0, "begin_ms": 0, "end_ms": 30, "cpu": 1.0},
            {"interval": 0, "begin_ms": 30, "end_ms": 40, "cpu": 0.2},
            {"interval": 1, "begin_ms": 40, "end_ms": 99, "cpu": 0.0},
        ],
        "parts": [{"name": name, "ms": ms} for name, ms in PARTS.items()],
        "operators": [],
        "peak_memory": None,
    }
    return {**plain, **changes}


# --- devices ---


def test_a_model_suits_the_device_with_its_largest_advantage() -> None:
    times = {("a", "old"): 100.0, ("a", "new"): 50.0, ("b", "old"): 100.0, ("b", "new"): 12.5}
    rows = [(device, profile(ms, benchmark=name)) for (name, device), ms in times.items()]
    a, b = compared(rows).models
    # Both models are faster on the new device, by 2 and 8: the geometric mean is 4
    assert (a.fastest, b.fastest) == ("new", "new")
    assert (a.suits, b.suits) == ("old", "new")
    assert [each.speedup for each in b.on] == [1, 8]
    assert [each.advantage for each in b.on] == pytest.approx([1 / math.sqrt(2), math.sqrt(2)])
    assert [each.advantage for each in a.on] == pytest.approx([math.sqrt(2), 1 / math.sqrt(2)])


def test_a_model_not_measured_on_every_device_has_no_advantage() -> None:
    rows = [("old", profile(10.0)), ("new", profile(5.0)), ("old", profile(3.0, benchmark="dlrm"))]
    ncf, dlrm = compared(rows).models
    assert [each.advantage for each in ncf.on] == pytest.approx([1, 1])
    assert [each.step_ms for each in dlrm.on] == [3.0, None]
    assert (dlrm.suits, dlrm.fastest) == (None, "old")


def test_settings_are_compared_as_separate_models() -> None:
    rows = [("x", profile()), ("x", profile(precision="bf16", compiled=True, ranks=2))]
    assert [model.name for model in compared(rows).models] == [
        "ncf smoke fp32",
        "ncf smoke bf16 compiled 2 ranks",
    ]


def saved(path: Path, made: dict[str, Any]) -> str:
    path.write_text(json.dumps(made))
    return str(path)


def test_the_command_compares_devices(tmp_path: Path) -> None:
    old, new = saved(tmp_path / "o.json", profile(80)), saved(tmp_path / "n.json", profile(20))
    out = tmp_path / "out"
    done = podium("profile", "--study", "devices", old, f"lab={new}", "--output", str(out))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "ncf smoke fp32: fastest on lab" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert json.loads((out / "study.json").read_text())["devices"] == ["a device", "lab"]
    assert "ncf smoke fp32 on lab" in (out / "study.html").read_text()


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([profile(), profile()], "two profiles of ncf smoke fp32 on a device"),
        ([profile(levels=[])], "ncf smoke fp32 on a device has no steps of the run level"),
        ([{"benchmark": "ncf"}], "0.json is not a profile.json of podium profile"),
        ([[1]], "0.json does not contain a JSON object"),
    ],
)
def test_bad_profiles_are_an_error_of_one_line(made: list[Any], said: str, tmp_path: Path) -> None:
    files = [saved(tmp_path / f"{at}.json", each) for at, each in enumerate(made)]
    done = podium("profile", "--study", "devices", *files)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


# --- settings of one trainer ---


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that describes how a fake Python behaves in each setting, by its folder."""
    path = tmp_path / "python"
    path.write_text(
        f"""#!{sys.executable}
import json, pathlib, sys
folder = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
outcome = json.loads(pathlib.Path({str(tmp_path / "outcome.json")!r}).read_text())[folder.name]
if "profile" in outcome:
    folder.mkdir(parents=True)
    (folder / "profile.json").write_text(json.dumps(outcome["profile"]))
sys.stderr.write(outcome.get("said", ""))
sys.exit(outcome.get("status", 0))
"""
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("podium.reference_runs.profiling.studies.running.sys.executable", str(path))
    return tmp_path / "outcome.json"


def test_two_ranks_are_compared_with_one_rank(program: Path, tmp_path: Path) -> None:
    two = profile(30.0, ranks=2, processors=[0.9, 0.8])
    program.write_text(json.dumps({"ranks_1": {"profile": profile()}, "ranks_2": {"profile": two}}))
    empty = Study(kind="scaling", benchmark="ncf", scale="smoke")
    steps = [*studied(empty, settings_of("scaling", 2), ["ncf"], tmp_path / "out")]
    assert [each.complete for each in steps] == [False, True]
    study = steps[-1]
    first, second = study.variants
    assert (study.device_name, study.global_batch_size, study.last_step) == ("a device", 100, 1000)
    assert (first.speedup, first.efficiency, first.samples_per_s) == (1, 1, 2000)
    assert second.speedup == pytest.approx(5 / 3)
    assert second.efficiency == pytest.approx(5 / 6)
    assert second.processors == pytest.approx(1.7)
    # Weighted by the length of each span, without evaluations
    assert second.cpu == pytest.approx((30 * 1.0 + 10 * 0.2) / 40)
    assert (second.exposed_ms, second.overlapped_ms) == (4.0, 1.0)
    assert max(map(len, study_text(study).splitlines())) <= 80


def test_an_unsupported_setting_is_skipped_and_a_broken_setting_fails(
    program: Path, tmp_path: Path
) -> None:
    outcome = {
        "fp32": {"profile": profile()},
        "tf32": {"status": 2, "said": "a warning\npodium: cpu has no TF32\n"},
        # Killed after a first measurement: an incomplete profile is not a result
        "bf16": {"status": 1, "profile": profile(), "said": "podium: out of memory\n"},
        "fp16": {"status": 3, "said": "nothing of podium's"},
    }
    program.write_text(json.dumps(outcome))
    empty = Study(kind="precision", benchmark="ncf", scale="smoke")
    *_, study = studied(empty, settings_of("precision", 1), ["ncf"], tmp_path / "out")
    assert [(each.name, each.state, each.reason) for each in study.variants] == [
        ("fp32", "measured", ""),
        ("tf32", "skipped", "cpu has no TF32"),
        ("bf16", "failed", "out of memory"),
        ("fp16", "failed", "exit status 3"),
    ]
    assert "tf32      skipped: cpu has no TF32" in study_text(study)


def test_the_command_writes_a_study_after_each_setting(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    eager, compiled = profile(80.0), profile(20.0, compiled=True)
    program.write_text(json.dumps({"eager": {"profile": eager}, "compiled": {"profile": compiled}}))
    out = tmp_path / "out"
    done = podium("profile", "ncf", "--study", "compile", "--output", str(out))
    assert done.exit_code == 0
    assert done.stderr.splitlines() == [
        "eager: measured, 80.000 ms per step",
        "compiled: measured, 20.000 ms per step",
    ]
    kept = json.loads((out / "study.json").read_text())
    assert kept["complete"] is True
    assert kept["variants"][1]["speedup"] == 4
    assert "Eager against compiled" in (out / "study.html").read_text()
    assert "interrupted" in render_study({**kept, "complete": False})


def test_batches_are_compared_by_samples_per_second(program: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    small, large = profile(10.0), profile(20.0)
    small["global_batch_size"], large["global_batch_size"] = 64, 512
    many = {"status": 2, "said": "podium: there are 9 training samples\n"}
    program.write_text(
        json.dumps(
            {
                "batch_64": {"profile": small},
                "batch_512": {"profile": large},
                "batch_10000000": many,
            }
        )
    )
    words = ("--study", "batch", "--batches", "64,512,10000000")
    done = podium("profile", "ncf", *words, "--output", tmp_path / "out")
    assert done.exit_code == 0
    kept = json.loads((tmp_path / "out/study.json").read_text())
    first, second, skipped = kept["variants"]
    assert (first["global_batch_size"], first["speedup"]) == (64, 1)
    assert (second["global_batch_size"], second["speedup"]) == (512, 4)
    assert (skipped["state"], skipped["reason"]) == ("skipped", "there are 9 training samples")
    assert kept["global_batch_size"] is None
    assert "\n  batch_10000000 skipped: there are 9" in done.stdout


def test_batch_sizes_are_around_that_of_the_trainer() -> None:
    assert batch_sizes(64) == (16, 32, 64, 128, 256)
    assert batch_sizes(1) == (1, 2, 4)
    words = [each.words for each in settings_of("batch", 1, (8,))]
    assert words == [("--set", "global_batch_size=8")]


def test_a_study_without_a_profile_reports_the_reason(program: Path) -> None:
    pytest.importorskip("torch")
    said = {"status": 2, "said": "podium: --device is cuda; no CUDA device is visible\n"}
    program.write_text(json.dumps({"eager": said, "compiled": said}))
    done = podium("profile", "ncf", "--study", "compile", "--device", "cuda")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("podium: --device is cuda")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["ncf", "--study", "scaling"],
            "--study scaling compares 1 to N ranks and needs --processes",
        ),
        (
            ["ncf", "--study", "compile", "--compile"],
            "--compile cannot be used with --study compile",
        ),
        (
            ["ncf", "--study", "precision", "--precision", "bf16"],
            "--precision cannot be used with --study precision",
        ),
        (
            ["ncf", "--study", "precision", "--processes", "2"],
            "--processes cannot be used with --study precision",
        ),
        (["ncf", "--batches", "8"], "--batches lists the sizes of --study batch"),
        (
            ["ncf", "--study", "batch", "--batches", "8,x"],
            "--batches: expected sizes such as 16,32,64, got '8,x'",
        ),
        (
            ["ncf", "--study", "batch", "--batches", "0"],
            "--batches: expected sizes such as 16,32,64, got '0'",
        ),
        (
            ["ncf", "--study", "batch", "--set", "global_batch_size=8"],
            "--set global_batch_size cannot be used with --study batch; use --batches",
        ),
        (["ncg", "--study", "compile"], "no bundled trainer is named ncg"),
        (["ncf", "dlrm_dcnv2"], "expected one trainer, got ncf dlrm_dcnv2"),
    ],
)
def test_an_invalid_study_is_an_error_of_one_line(words: list[str], said: str) -> None:
    done = podium("profile", *words)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr


@pytest.mark.long
def test_a_trainer_is_profiled_on_one_and_two_ranks(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    few = ("--turns", "1", "--steps", "4", "--device", "cpu")
    out = tmp_path / "out"
    done = podium("profile", "ncf", "--study", "scaling", "--processes", "2", *few, "--output", out)
    assert done.exit_code == 0, done.stderr
    kept = json.loads((out / "study.json").read_text())
    assert [(each["state"], each["ranks"]) for each in kept["variants"]] == [
        ("measured", 1),
        ("measured", 2),
    ]
    assert kept["variants"][0]["exposed_ms"] == 0
    assert kept["variants"][1]["exposed_ms"] > 0
    traces = sorted((out / "ranks_2/traces").iterdir())
    assert [path.name for path in traces] == ["rank_0.json", "rank_1.json"]
    ranks = [json.loads(path.read_text())["distributedInfo"]["rank"] for path in traces]
    assert ranks == [0, 1]
