"""`podium profile compare`: the differences between two profiles."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.compliance import command_line

Profile = dict[str, Any]


def podium(*words: object) -> tuple[int, str, str]:
    done = command_line.podium(*words)
    return done.exit_code, done.stdout, done.stderr


def operator(name: str, ms: float, phase: str = "forward") -> dict[str, Any]:
    kernels = [{"name": f"kernel of {name}", "ms": ms, "calls": 1}]
    return {"module": "mlp", "phase": phase, "name": name, "ms": ms, "kernels": kernels}


def profile(**changed: Any) -> Profile:
    names = ("benchmark", "scale", "device_name", "precision", "torch")
    layer = {"name": "", "kind": "Net", "forward_ms": 1.0, "backward_ms": 2.0}
    return {
        "format": 1,
        **dict.fromkeys(names, "x"),
        "compiled": False,
        "ranks": 1,
        "threads": 1,
        "global_batch_size": 8,
        "levels": [{"level": "run", "step_ms": 4.0}],
        "parts": [{"name": "forward", "ms": 1.0}],
        "layers": [layer],
        "operators": [operator("aten::mm", 1.0), operator("aten::mm", 2.0, "backward")],
        **changed,
    }


def written(folder: Path, name: str, data: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps(data))
    return path


def test_the_largest_change_is_first(tmp_path: Path) -> None:
    old = written(tmp_path, "a.json", profile())
    changed = [operator("aten::mm", 1.5), operator("aten::add", 9.0)]
    new = written(tmp_path, "b.json", profile(ranks=2, operators=changed))
    status, out, _ = podium("profile", "compare", old, new, "--output", tmp_path / "out")
    assert status == 0
    assert "ranks: 1 -> 2" in out
    assert max(map(len, out.splitlines()[2:])) <= 80
    found = json.loads((tmp_path / "out/difference.json").read_text())
    assert found["operators"] == [
        {"name": "aten::add mlp", "before": None, "after": 9.0},
        {"name": "aten::mm mlp'", "before": 2.0, "after": None},
        {"name": "aten::mm mlp", "before": 1.0, "after": 1.5},
    ]
    # A kernel is summed over the operators that launch it
    assert found["kernels"][1] == {"name": "kernel of aten::mm", "before": 3.0, "after": 1.5}
    assert (tmp_path / "out/difference.csv").read_text().startswith("table,name,before,after")


def test_equal_profiles_have_no_change(tmp_path: Path) -> None:
    path = written(tmp_path, "a.json", profile())
    status, out, _ = podium("profile", "compare", path, path)
    assert status == 0
    assert "->" not in out
    assert "+0.000   1.00" in out


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "is neither a profile.json of podium profile nor a trace"),
        ([], "does not contain a JSON object"),
        (profile(format=2), "has format 2; expected format 1"),
        (profile(format=None), "has format None; expected format 1"),
        (profile(levels=[{"level": "run"}]), "is not a complete profile.json"),
        (profile(layers=3), "is not a complete profile.json"),
        (profile(parts=[{"name": "forward", "ms": "x"}]), "is not a complete profile.json"),
    ],
)
def test_an_invalid_profile_is_an_error_of_one_line(data: Any, said: str, tmp_path: Path) -> None:
    old = written(tmp_path, "a.json", profile())
    status, out, err = podium("profile", "compare", old, written(tmp_path, "b.json", data))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_a_truncated_profile_is_an_error_of_one_line(tmp_path: Path) -> None:
    old = written(tmp_path, "a.json", profile())
    (tmp_path / "b.json").write_text(old.read_text()[:-5])
    status, _, err = podium("profile", "compare", old, tmp_path / "b.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "is not JSON" in err


def step(length: float, kernels: dict[str, float]) -> dict[str, Any]:
    """A trace with one step and a kernel every 100 us."""

    def event(kind: str, name: str, begin: float, time: float, lane: int, **args: Any) -> Any:
        row = {"ph": "X", "cat": kind, "name": name, "ts": begin, "dur": time, "args": args}
        return {**row, "pid": 0, "tid": lane}

    rows = [event("user_annotation", "ProfilerStep#1", 0, length, 1)]
    for number, (name, time) in enumerate(kernels.items()):
        begin, ids = number * 100, {"External id": number}
        rows += [
            event("cpu_op", f"aten::{name}", begin, 20, 1, **ids),
            event("cuda_runtime", "cudaLaunchKernel", begin, 5, 1, correlation=number),
            event("kernel", name, begin + 10, time, 7, correlation=number, **ids),
        ]
    return {"traceEvents": rows}


@pytest.mark.parametrize("form", ["trace", "folder", "gzip", "analysis"])
def test_traces_are_compared(form: str, tmp_path: Path) -> None:
    made = {"before": {"mm": 40.0, "add": 10.0}, "after": {"mm": 30.0, "mul": 10.0}}
    paths = {}
    for name, kernels in made.items():
        (tmp_path / name).mkdir()
        path = written(tmp_path / name, "rank_0.json", step(200, kernels))
        if form == "folder":
            path = path.parent
        elif form == "gzip":
            path = path.with_suffix(".json.gz")
            path.write_bytes(gzip.compress((tmp_path / name / "rank_0.json").read_bytes()))
        elif form == "analysis":
            podium("profile", "read", path, "--output", tmp_path / name / "read")
            path = tmp_path / name / "read/traces.json"
        paths[name] = path
    status, out, err = podium("profile", "compare", *paths.values(), "--output", tmp_path / "out")
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines()[2:])) <= 80
    found = json.loads((tmp_path / "out/difference.json").read_text())
    rows = {row["name"]: (row["before"], row["after"]) for row in found["kernels"]}
    assert rows == {
        "mm": (pytest.approx(0.04), pytest.approx(0.03)),
        "add": (pytest.approx(0.01), None),
        "mul": (None, pytest.approx(0.01)),
    }
    assert {row["name"] for row in found["operators"]} == {"aten::mm", "aten::add", "aten::mul"}
    assert found["levels"] == [{"name": "step", "before": 0.2, "after": 0.2}]
    assert found["idle"]
    assert found["layers"] == []


def test_a_profile_is_not_compared_with_a_trace(tmp_path: Path) -> None:
    old = written(tmp_path, "profile.json", profile())
    new = written(tmp_path, "trace.json", step(200, {"mm": 30.0}))
    status, out, err = podium("profile", "compare", old, new)
    assert (status, out) == (2, "")
    assert "expected two profiles or two traces, got" in err
    assert err.count("\n") == 1


def test_an_incomplete_analysis_of_traces_is_an_error_of_one_line(tmp_path: Path) -> None:
    for number, data in enumerate(({"ranks": []}, {"ranks": [{"ranks": 1}]}, {"ranks": [3]})):
        path = written(tmp_path, f"{number}.json", {"format": 1, **data})
        status, out, err = podium("profile", "compare", path, path)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "is not a complete traces.json" in err
