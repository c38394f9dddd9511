"""The tables of `podium profile read`, on traces with the structure of a GPU trace."""

from __future__ import annotations

import csv
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from podium.reference_runs.profiling.traces.names import kernel_names
from tests.reference_runs.profiling.traces.made import (
    Row,
    analysis,
    event,
    launched,
    podium,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

ELEMENTWISE = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>, std::array<char*,"
    " 2ul> >(int, at::native::{}<float>, std::array<char*, 2ul>)"
)
FILL, NEGATE = (ELEMENTWISE.format(name, name) for name in ("FillFunctor", "NegateFunctor"))
GEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_{}_n_tilesize32x32x8_stage3_warpsize1x2x1_execute_kernel"


def queued() -> list[Row]:
    """Two steps of 100 us; work of the step before them is still in the queue when they begin."""
    rows: list[Row] = [
        event("kernel", FILL, -5, 10, correlation=1, lane=20),
        event("kernel", FILL, 6, 10, correlation=2, lane=20),
    ]
    for at in (0, 100):
        rows += [
            event("user_annotation", f"ProfilerStep#{at}", at, 100),
            event("user_annotation", "forward", at + 10, 30 + at / 10),
            event("cpu_op", "aten::linear", at + 10, 20, **{"External id": at + 1}),
            event("cpu_op", "aten::addmm", at + 12, 15, **{"External id": at + 2}),
            *launched(FILL, at + 14, at + 20, 4, **{"External id": at + 2}),
            *launched(GEMM.format("nn"), at + 20, at + 26, 10, **{"External id": at + 2}),
            *launched(NEGATE, at + 60, at + 70, 6),
            event("cuda_runtime", "cudaMemcpyAsync", at + 80, 3, correlation=at + 7),
            event(
                *("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 90, 2),
                correlation=at + 7,
                bytes=8000,
                lane=20,
            ),
        ]
    return rows


def by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows}


def test_work_of_earlier_steps_is_counted_separately(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, queued()))["ranks"][0]
    assert by_name(rank["kernels"])[FILL]["calls"] == 1
    parts = {part["name"]: part["ms"] * 2000 for part in rank["parts"]}
    assert parts == {
        "computing": pytest.approx(40),
        "copies, exposed": pytest.approx(4),
        # 5 us of the first kernel are before the first step
        "work of earlier steps": pytest.approx(15),
        "idle": pytest.approx(141),
    }


def test_work_with_an_unknown_launch_counts_if_its_stream_has_no_launches(tmp_path: Path) -> None:
    rows = [*queued(), event("kernel", "graph", 30, 9, correlation=3, lane=50)]
    rank = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]
    assert by_name(rank["kernels"])["graph"]["ms"] == pytest.approx(0.0045)


def test_kernels_have_their_shortest_and_longest_time(tmp_path: Path) -> None:
    rows = [*launched("a", 0, 6, 3), *launched("a", 10, 20, 8)]
    (kernel,) = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["kernels"]
    assert (kernel["shortest_us"], kernel["longest_us"]) == (3, 8)


def test_operators_have_the_time_of_the_kernels_that_they_launch(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, queued()))["ranks"][0]
    (launcher,) = rank["launchers"]
    assert launcher == {
        "name": "aten::addmm",
        "ms": pytest.approx(0.014),
        "calls": 1,
        "kernels": 2,
        "share": pytest.approx(14 / 22),
    }


def test_copies_have_a_rate_if_their_size_is_known(tmp_path: Path) -> None:
    rows = [*queued(), event("gpu_memset", "Memset (Device)", 150, 2, lane=20)]
    copies = by_name(analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["copies"])
    moved = copies["Memcpy HtoD (Pageable -> Device)"]
    assert (moved["bytes"], moved["calls"]) == (8000, 1)
    assert moved["bytes_per_s"] == pytest.approx(4e9)
    assert copies["Memset (Device)"]["bytes_per_s"] is None


def test_ranges_have_their_time_on_host_and_device(tmp_path: Path) -> None:
    rank = analysis(tmp_path, written(tmp_path, queued()))["ranks"][0]
    ranges = by_name(rank["annotations"])
    assert {*ranges} == {"ProfilerStep", "forward"}
    assert ranges["forward"] == {
        "name": "forward",
        "calls": 1,
        "host_ms": pytest.approx(0.035),
        "device_ms": pytest.approx(0.014),
        "shortest_ms": pytest.approx(0.03),
        "longest_ms": pytest.approx(0.04),
    }
    assert ranges["ProfilerStep"]["device_ms"] == pytest.approx(0.022)


def test_slow_calls_and_late_kernels_are_counted(tmp_path: Path) -> None:
    rows = [*launched("a", 0, 6, 3), *launched("b", 10, 115, 8), *launched("c", 200, 306, 3)]
    rows[0]["dur"] = 60
    found = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["launches"]
    assert found["slow_calls"] == pytest.approx(1 / 3)
    assert (found["tiny"], found["tiny_time"]) == (1, 1)
    # 100 and 101 us after the ends of their calls, 15 and 205
    assert found["late_starts"] == pytest.approx(1 / 3)


def test_tiny_kernels_are_counted(tmp_path: Path) -> None:
    rows = [*launched("a", 0, 6, 4), *launched("b", 10, 16, 4), *launched("c", 20, 26, 12)]
    found = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["launches"]
    assert found["tiny"] == pytest.approx(2 / 3)
    assert found["tiny_time"] == pytest.approx(8 / 20)


def test_sequences_do_not_share_pairs_of_kernels(tmp_path: Path) -> None:
    rows: list[Row] = []
    for number, name in enumerate("abcxabcy" * 3):
        rows += launched(name, number * 20, number * 20 + 6, 9 if name in "bc" else 5)
    found = analysis(tmp_path, written(tmp_path, rows))["ranks"][0]["sequences"]
    pairs = [pair for each in found for pair in {*pairwise(each["kernels"])}]
    assert len(found) > 1
    assert len(pairs) == len({*pairs})


def test_every_table_is_written_to_a_file(tmp_path: Path) -> None:
    analysis(tmp_path, written(tmp_path, queued()))
    for name, rows in (("kernels", 4), ("launchers", 1), ("copies", 1), ("annotations", 2)):
        with (tmp_path / f"out/{name}.csv").open(newline="") as file:
            assert len([*csv.DictReader(file)]) == rows, name


NAMES = {
    FILL: "vectorized_elementwise_kernel<4, FillFunctor<float>>",
    "void (anonymous namespace)::softmax<float, (anonymous namespace)::Epilogue>(float*, int)": (
        "softmax<float, Epilogue>"
    ),
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::"
    "neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda(float)"
    "#1}>(at::TensorIteratorBase&, float const&)::{lambda(int)#1}>(int, float)": (
        "elementwise_kernel<128, 2, <neg_kernel_cuda>>"
    ),
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": (
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
    ),
    "Memcpy HtoD (Pageable -> Device)": "Memcpy HtoD (Pageable -> Device)",
    "aten::linear": "aten::linear",
    "()": "()",
    "": "",
}


@pytest.mark.parametrize(("name", "short"), NAMES.items())
def test_names_of_kernels_are_simplified(name: str, short: str) -> None:
    assert kernel_names([name], 80) == {name: short}


def test_a_name_with_many_parentheses_is_shortened_quickly() -> None:
    name = "(" * 300_000 + "<" + ")" * 300_000
    assert len(kernel_names([name], 40)[name]) == 40


@pytest.mark.parametrize("width", [39, 44, 49])
def test_names_of_different_kernels_are_different(width: int) -> None:
    names = [FILL, NEGATE, *map(GEMM.format, ("nn", "tn", "nt")), f"{GEMM.format('nn')}_5x"]
    cuts = kernel_names(names, width)
    assert len({*cuts.values()}) == len(names)
    assert max(map(len, cuts.values())) <= width


def test_the_text_has_80_columns_and_distinct_names(tmp_path: Path) -> None:
    rows = queued()
    # Idle time of each cause, and a long sequence
    rows += [*launched(GEMM.format("tn"), 110, 175, 5), *launched(GEMM.format("nt"), 112, 182, 5)]
    for rank in range(4):
        info = {"rank": rank, "world_size": 4}
        written(tmp_path, rows, f"rank_{rank}.json", distributedInfo=info)
    status, out, _ = podium("profile", "read", tmp_path)
    assert status == 0
    lines = out.splitlines()
    assert max(map(len, lines[4:])) <= 80
    begin = lines.index(next(line for line in lines if line.startswith("idle time")))
    idle = lines[begin : lines.index("", begin)]
    assert "…" not in "".join(idle)
    begin = lines.index(next(line for line in lines if line.startswith("kernels of rank 0")))
    table = [line[:52] for line in lines[begin + 2 : lines.index("", begin)]]
    assert len(table) == len({*table}) == 6


def test_negligible_work_is_not_listed_on_the_critical_path(tmp_path: Path) -> None:
    rows = [*launched("short", 0, 6, 1), *launched("long", 2, 7, 99_999)]
    rows[0]["dur"] = rows[2]["dur"] = 1
    _, out, _ = podium("profile", "read", written(tmp_path, rows))
    path = out[out.index("the longest work on it") : out.index("kernels of rank 0")]
    assert "kernel: long" in path
    assert "kernel: short" not in path
