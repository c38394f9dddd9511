"""`podium profile read` on traces that are built by hand, with known results."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from podium.reference_runs.profiling.traces.analysis import analyzed
from podium.reference_runs.profiling.traces.events import read_trace
from tests.reference_runs.profiling.traces.made import (
    Row,
    analysis,
    event,
    launched,
    podium,
    written,
)


def on_gpu() -> list[Row]:
    """One step of 300 us: each cause of idle time, a copy, and an exposed collective."""
    return [
        event("user_annotation", "ProfilerStep#3", 0, 300),
        # The loader, then an operator that launches the first kernel late
        event("user_annotation", "enumerate(DataLoader)#_Iter.__next__", 0, 20),
        event(
            *("cpu_op", "aten::mm", 20, 12),
            **{"External id": 5, "Input Dims": [[10, 20], [20, 30]]},
        ),
        *launched("gemm", 25, 40, 60, **{"External id": 5}),
        # Queued behind the first kernel: starts 2 us after its end
        *launched("relu", 33, 102, 18),
        # Queued long ago on another stream, but starts 30 us after the last work
        *launched("ncclDevKernel_AllReduce", 45, 150, 40, stream=30),
        event("cuda_runtime", "cudaDeviceSynchronize", 60, 135),
        # Python until 230, and the last kernel ends at 260
        *launched("adam", 225, 240, 20),
        event("gpu_memcpy", "Memcpy HtoD", 185, 10, correlation=99, lane=40),
    ]


def times(rows: list[Row]) -> dict[str, float]:
    """Microseconds by name."""
    return {row["name"]: pytest.approx(row["ms"] * 1000) for row in rows}


def test_parts_add_up_to_the_step(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, on_gpu()))["ranks"][0]
    assert times(rank["parts"]) == {
        "computing": 98,
        "communication, exposed": 40,
        "copies, exposed": 5,
        "idle": 157,
    }
    assert rank["step_ms"] == pytest.approx(0.3)


def test_idle_time_has_a_cause(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, on_gpu()))["ranks"][0]
    assert times(rank["idle"]) == {
        # 195 to 225 without a launch, 225 to 230 in the launch, and the end of the step
        "host: Python, outside of operators": 75,
        "dependency: queued work waits": 30,
        "host: data loader": 20,
        "launch: launched, not yet running": 20,
        "host: operators, before they launch": 10,
        "between kernels: overhead of the start": 2,
    }
    assert sum(each["ms"] for each in rank["idle"]) == pytest.approx(0.157)


def test_the_critical_path_covers_the_step(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, on_gpu()))["ranks"][0]
    assert sum(each["ms"] for each in rank["critical"]) == pytest.approx(rank["step_ms"])
    path = {(each["kind"], each["name"]): each["ms"] * 1000 for each in rank["path"]}
    # The host waits until 195, when the copy ends; nothing waits for the last kernel
    assert path["copy", "Memcpy HtoD"] == pytest.approx(10)
    assert path["host", "Python, outside of operators"] == pytest.approx(105 + 28)
    assert ("kernel", "adam") not in path


def test_a_collective_is_on_the_path_if_the_next_kernel_waits_for_it(tmp_path: Path) -> None:
    rows = [
        event("user_annotation", "ProfilerStep#1", 0, 10),
        *launched("gemm", 1, 10, 30),
        *launched("short", 2, 10, 5, stream=40),
        *launched("ncclDevKernel_AllReduce", 3, 41, 50, stream=30),
        *launched("adam", 4, 92, 8),
    ]
    rank = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]
    names = {each["name"] for each in rank["path"]}
    assert {"gemm", "ncclDevKernel_AllReduce", "adam"} <= names
    assert "short" not in names
    assert sum(each["ms"] for each in rank["critical"]) == pytest.approx(0.1)


def test_flop_come_from_shapes_and_time_from_kernels(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, on_gpu()))["ranks"][0]
    (product,) = rank["counted"]
    assert product["flop"] == 2 * 10 * 20 * 30
    assert product["ms"] == pytest.approx(0.06)


def convolution(name: str, sizes: list[Any], values: list[str]) -> list[Row]:
    args = {"External id": 1, "Input Dims": sizes, "Concrete Inputs": values}
    return [event("cpu_op", name, 0, 10, **args)]


@pytest.mark.parametrize(
    ("rows", "flop"),
    [
        (
            convolution(
                "aten::convolution",
                [[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []],
                ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"],
            ),
            2 * (2 * 4 * 4 * 4) * 27,
        ),
        (
            convolution(
                "aten::_scaled_dot_product_flash_attention",
                [[1, 2, 16, 8]] * 3,
                ["", "", ""],
            ),
            2 * 2 * 16 * 16 * 16,
        ),
        (convolution("aten::scaled_dot_product_attention", [[1, 2, 16, 8]] * 3, [""] * 3), None),
        (convolution("aten::mm", [[3]], [""]), None),
        (convolution("aten::mm", "shapes", [""]), None),  # type: ignore[arg-type]
    ],
)
def test_flop_follow_the_formulas_of_profiles(
    rows: list[Row], flop: float | None, tmp_path: Path
) -> None:
    counted = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["counted"]
    assert [each["flop"] for each in counted] == ([] if flop is None else [flop])


def test_launches_have_delays_and_a_queue(tmp_path: Path) -> None:
    found = analysis(tmp_path, written(tmp_path, on_gpu()))["ranks"][0]["launches"]
    assert found["per_step"] == 4
    assert found["longest_delay_us"] == pytest.approx(100)
    assert found["longest_queue"] == 2
    assert found["short"] == 0


def test_frequent_sequences_are_listed_once(tmp_path: Path) -> None:
    rows: list[Row] = []
    for turn in range(3):
        at = turn * 100
        rows += launched("a", at, at + 10, 10)
        rows += launched("b", at + 5, at + 20, 20)
        rows += launched(f"end {turn}", at + 9, at + 50, 1)
    (found,) = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["sequences"]
    assert found["kernels"] == ["a", "b"]
    assert (found["calls"], found["ms"]) == (3, pytest.approx(0.09))


NCCL = {
    "Collective name": "allreduce",
    "In msg nelems": 1000,
    "Out msg nelems": 1000,
    "dtype": "Float",
    "Group size": 2,
    "Process Group Name": "0",
}


def ranks(folder: Path) -> list[Path]:
    """Two ranks with clocks that differ; rank 1 joins last in two of three collectives."""
    lengths = ((50, 50, 20), (20, 20, 30))
    made = []
    for rank, row in enumerate(lengths):
        rows = [event("user_annotation", "ProfilerStep#1", rank * 1e6, 400)]
        for at, length in enumerate(row):
            rows += launched("ncclDevKernel", rank * 1e6 + at * 100, at * 100 + 10, length, **NCCL)
            rows[-1]["ts"] += rank * 1e6
        info = {"rank": rank, "world_size": 2}
        made.append(written(folder, rows, f"rank_{rank}.json", distributedInfo=info))
    return made


def test_skew_is_the_time_that_ranks_wait_for_the_last(tmp_path: Path) -> None:
    report = analysis(tmp_path, *ranks(tmp_path))
    (found,) = report["collectives"]
    assert (found["name"], found["group"], found["calls"]) == ("allreduce", "0", 3)
    assert found["skew_ms"] == pytest.approx((30 + 30 + 10) / 3000)
    assert found["longest_skew_ms"] == pytest.approx(0.03)
    assert found["transfer_ms"] == pytest.approx(0.02)
    assert (found["last_rank"], found["last_share"]) == (1, pytest.approx(2 / 3))
    # 4000 bytes in 20 us; on a ring of two ranks each link carries all of them
    assert found["bus_bytes_per_s"] == pytest.approx(4000 / 20e-6)


def test_traces_are_found_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    ranks(tmp_path / "traces")
    for folder in (tmp_path, tmp_path / "traces"):
        status, out, _ = podium("profile", "read", folder)
        assert status == 0
        assert "rank 0   rank 1" in out
        assert max(map(len, out.splitlines()[4:])) <= 80


def test_a_missing_rank_is_noted(tmp_path: Path) -> None:
    first = ranks(tmp_path)[0].read_text().replace('"world_size": 2', '"world_size": 4')
    (tmp_path / "rank_0.json").write_text(first)
    status, out, _ = podium("profile", "read", tmp_path)
    assert status == 0
    assert "note: 2 of 4 ranks have a trace" in out


def test_a_compressed_list_of_events_without_steps_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(on_gpu()[1:]).encode()))
    status, out, _ = podium("profile", "read", path)
    assert status == 0
    assert "has no marked steps" in out


def test_idle_time_in_a_cpu_trace_has_causes(tmp_path: Path) -> None:
    rows = [
        event("user_annotation", "ProfilerStep#1", 0, 100),
        event("user_annotation", "enumerate(DataLoader)#x", 0, 10),
        event("cpu_op", "aten::linear", 20, 40),
        event("cpu_op", "aten::addmm", 25, 30),
        event("cpu_op", "c10d::allreduce_", 60, 20),
        event("user_annotation", "gloo:all_reduce", 55, 30, lane=2),
    ]
    rank = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]
    assert times(rank["parts"]) == {
        "computing": 40,
        "communication, exposed": 25,
        "idle": 35,
        "communication, overlapped": 5,
    }
    assert times(rank["idle"]) == {
        "host: Python, outside of operators": 25,
        "host: data loader": 10,
    }
    kernels = {each["name"]: each["ms"] * 1000 for each in rank["kernels"]}
    assert kernels["aten::linear"] == pytest.approx(10)
    assert sum(each["ms"] for each in rank["critical"]) == pytest.approx(0.1)


FAULTS = {
    "empty": ('{"traceEvents": []}', "has no timed events of torch.profiler"),
    "text": ("step 1", "is not complete JSON: Expecting value at line 1 column 1"),
    "nothing": ("", "is not complete JSON"),
    "truncated": (json.dumps({"traceEvents": on_gpu()})[:-40], "is not complete JSON"),
    "report": ('{"format": 1}', "is not a trace: expected traceEvents"),
    "number": ("3", "is not a trace: expected traceEvents"),
    "rows": ('{"traceEvents": {"a": 1}}', "is not a trace: expected traceEvents"),
    "nested": ("[" * 100_000, "is not JSON"),
    "time": (
        '[{"ph": "X", "cat": "kernel", "name": "k", "ts": "NaN", "dur": 1}]',
        "event 0 of the trace has no valid time",
    ),
    "negative": (
        '[{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -1}]',
        "event 0 of the trace has no valid time",
    ),
    "unknown": ('[3, {"ph": "X", "cat": "gc", "ts": 1}]', "has no timed events"),
}


@pytest.mark.parametrize(("content", "said"), FAULTS.values(), ids=FAULTS)
def test_a_file_that_is_not_a_trace_is_an_error_of_one_line(
    content: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)
    status, out, err = podium("profile", "read", path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_an_unreadable_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(b"{}" * 100)[:-9])
    (tmp_path / "empty").mkdir()
    cases = {
        cut: "is not complete gzip data",
        tmp_path / "missing": "cannot be read: No such file",
        tmp_path / "empty": "contains no traces",
    }
    for path, said in cases.items():
        status, _, err = podium("profile", "read", path)
        assert (status, err.count("\n")) == (2, 1)
        assert said in err


def test_one_rank_cannot_have_two_traces(tmp_path: Path) -> None:
    first = written(tmp_path, on_gpu(), "a.json")
    second = written(tmp_path, on_gpu(), "b.json")
    status, _, err = podium("profile", "read", first, second)
    assert (status, err.count("\n")) == (2, 1)
    assert "expected one trace of each rank" in err


def drawn(seed: int) -> list[Row]:
    """Random events on two threads and three streams; no real program writes such a trace."""
    draw = random.Random(seed)
    rows = [event("cpu_op", "aten::mm", 0, 300)]
    for number in range(draw.randint(1, 30)):
        begin, length, kind = draw.randint(0, 200), draw.randint(0, 40), draw.random()
        if kind < 0.1:
            rows.append(event("user_annotation", f"ProfilerStep#{number}", begin, length + 50))
        elif kind < 0.3:
            wait = event("cuda_runtime", "cudaStreamSynchronize", begin, length)
            rows.append({**wait, "tid": draw.randint(1, 2)})
        else:
            call, kernel = launched(draw.choice("ab"), begin, begin + 5, length)
            kernel["ts"] += draw.randint(-15, 60)
            rows += [call, {**kernel, "tid": draw.randint(20, 22)}]
    return rows


def test_parts_causes_and_path_always_add_up(tmp_path: Path) -> None:
    for seed in range(150):
        rank = analyzed(read_trace(written(tmp_path, drawn(seed))))
        parts = {each.name: each.ms for each in rank.parts}
        parts.pop("communication, overlapped", None)
        assert sum(parts.values()) == pytest.approx(rank.step_ms), seed
        assert sum(each.ms for each in rank.critical) == pytest.approx(rank.step_ms), seed
        assert sum(each.ms for each in rank.idle) == pytest.approx(parts.get("idle", 0)), seed


def test_the_flop_of_a_real_trace_match_torchs_counter(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch.utils.flop_counter")
    profiler = pytest.importorskip("torch.profiler")
    images = torch.randn(2, 3, 8, 8, requires_grad=True)
    filters = torch.randn(4, 3, 3, 3, requires_grad=True)
    layer = torch.nn.Linear(4, 7)

    def step() -> None:
        made = torch.nn.functional.conv2d(images, filters, stride=2, padding=1)
        layer(made).sum().backward()

    with counter.FlopCounterMode(display=False) as found:
        step()
    cpu = [profiler.ProfilerActivity.CPU]
    with profiler.profile(activities=cpu, record_shapes=True, acc_events=True) as recorded:
        step()
    recorded.export_chrome_trace(str(tmp_path / "trace.json"))
    counted = analyzed(read_trace(tmp_path / "trace.json")).counted
    assert sum(each.flop for each in counted) == found.get_total_flops()
    assert {"aten::convolution", "aten::convolution_backward"} <= {each.name for each in counted}
