"""The lists and public sheets of DeepBench: formulas, known errors and totals."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from podium.reference_runs.errors import RunFault
from podium.reference_runs.kernels.compare import DeviceTimes, each_kernel, summary
from podium.reference_runs.kernels.lists import LISTS, listed, plain, rows
from podium.reference_runs.kernels.problems import (
    AllReduce,
    Convolution,
    Gemm,
    Recurrent,
    bytes_of,
    part_of,
)
from podium.reference_runs.kernels.sheets import names, sheet
from tests.locations import FACTS

pytest.importorskip("torch")

SHEETS = {name: each for name, each in plain("sheets.json").items() if ":" in name}
FOLDER = FACTS / "deepbench"


def test_the_lists_are_complete() -> None:
    assert [len(rows("gemm", name)) for name in LISTS] == [160, 75, 13]
    assert [len(rows("convolution", name)) for name in LISTS] == [94, 107, 16]
    assert [len(rows("recurrent", name)) for name in LISTS] == [53, 69, 3]
    assert [len(rows("sparse_gemm", name)) for name in LISTS] == [0, 24, 8]
    assert len(rows("all_reduce", "training")) == 7
    cells = [row[0] for row in rows("recurrent", "training")]
    assert [cells.count(cell) for cell in ("vanilla", "lstm", "gru")] == [12, 22, 19]


def test_the_training_list_has_every_direction_and_no_duplicates() -> None:
    problems = listed("training", 2)
    assert len(problems) == len(set(problems)) == 160 + 3 * 90 + 2 * 53 + 7
    assert {part_of(each) for each in listed("server", 2)} == {
        *("gemm", "convolution forward", "recurrent forward", "sparse_gemm"),
    }


# --- formulas against published rates ---


def gemm_rates(found: dict[str, Any]) -> Iterator[tuple[float, float]]:
    for at, (ms, rate) in enumerate(zip(found["ms"], found["tflops"], strict=True)):
        row = found.get("other", {}).get(str(at), rows("gemm", "training")[at])
        yield Gemm(*row[:3]).flop / ms / 1e9, rate


def convolution_rates(found: dict[str, Any]) -> Iterator[tuple[float, float]]:
    for at, (ms, rate) in enumerate(zip(found["forward_ms"], found["tflops"], strict=True)):
        problem = Convolution(*rows("convolution", "training")[at])
        # Some sheets divide without rounding down: their output sizes are not integers
        p, q = found.get("p_q", {}).get(str(at), (problem.p, problem.q))
        yield problem.flop_of_output(p, q) / ms / 1e9, rate


def recurrent_rates(found: dict[str, Any]) -> Iterator[tuple[float, float]]:
    for at, (ms, rate) in enumerate(zip(found["forward_ms"], found["tflops"], strict=True)):
        problem = Recurrent(*rows("recurrent", "training")[at])
        # The sheets count a bias only for vanilla cells
        bias = problem.hidden * problem.batch * problem.timesteps
        more = bias if problem.cell == "vanilla" else 0
        yield (problem.flop + more) / ms / 1e9, rate


def all_reduce_rates(found: list[Any]) -> Iterator[tuple[float, float]]:
    for elements, ranks, _nodes, ms, rate, _library in found:
        yield bytes_of(AllReduce(elements, ranks), "fp32") / ms / 1e6, rate


FORMULAS = {
    "gemm": (gemm_rates, 2240),
    "convolution": (convolution_rates, 1316),
    "recurrent": (recurrent_rates, 583),
    "all_reduce": (all_reduce_rates, 203),
}


@pytest.mark.parametrize("kind", FORMULAS)
def test_every_published_rate_follows_from_its_time(kind: str) -> None:
    rates, count = FORMULAS[kind]
    pairs = [pair for each in SHEETS.values() if kind in each for pair in rates(each[kind])]
    assert len(pairs) == count
    wrong = [pair for pair in pairs if not math.isclose(*pair, rel_tol=1e-6)]
    assert wrong == []


def test_all_published_rows_are_checked() -> None:
    assert sum(count for _, count in FORMULAS.values()) == 4342


# --- the sheets as references ---


def test_the_sheets_cover_eleven_devices() -> None:
    assert len({name.partition(":")[0] for name in names()}) == 11
    assert set(plain("sheets.json")["devices"]) == {name.partition(":")[0] for name in names()}


def test_a_known_error_of_a_sheet_is_corrected_and_noted() -> None:
    problems = set(listed("training", 2))
    for name in names():
        found = sheet(name)
        strange = {each for each in found.ms if isinstance(each, Gemm)} - problems
        # Three products of the oldest sheet have other dimensions, which are not known errors
        assert len(strange) == (3 if name == "NV_TitanX:fp32" else 0)
        slipped = not name.startswith("AMD")
        assert any("K is 1530 in 8 rows" in note for note in found.notes) is slipped


def test_a_rate_is_computed_from_integer_output_sizes() -> None:
    first = rows("convolution", "training")[0]
    problem = Convolution(*first)
    assert (problem.p, problem.q) == (79, 341)
    assert SHEETS["AMD_MI25:fp32"]["convolution"]["p_q"]["0"] == [78.5, 340.5]
    row = next(
        each
        for each in each_kernel([sheet("AMD_MI25")])
        if each["kernel"] == problem.label and each["part"] == "convolution forward"
    )
    assert row["tflops"] == pytest.approx(problem.flop / 0.208 / 1e9)


def test_an_unknown_sheet_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(RunFault, match="did you mean NV_V100:fp32"):
        sheet("NV_V10")


def test_speeds_are_compared_over_common_problems() -> None:
    a, b, c = Gemm(1000, 1000, 1000), Gemm(10, 10, 10), Gemm(20, 20, 20)
    one = DeviceTimes(name="one", precision="fp32", ms={a: 1.0, b: 4.0})
    two = DeviceTimes(name="two", precision="fp32", ms={a: 2.0, b: 1.0, c: 1.0})
    found = {row["device"]: row for row in summary([one, two])}
    assert found["one"]["total_ms"] == 5
    assert found["two"]["total_ms"] == 3
    assert found["two"]["common"] == 2
    # The geometric mean of 1/2 and 4
    assert found["two"]["speed"] == pytest.approx(math.sqrt(2))
    assert found["one"]["best_tflops"] == pytest.approx(2.0)


@pytest.mark.facts
def test_totals_match_the_published_sheets() -> None:
    with (FOLDER / "results" / "totals.csv").open(newline="") as stream:
        totals = [*csv.DictReader(stream)]
    assert len(totals) == len(SHEETS)
    for row in totals:
        found = SHEETS[f"{row['device']}:{row['precision']}"]
        times = (
            sum(found["gemm"]["ms"]),
            sum(found["convolution"]["forward_ms"]),
            sum(found.get("recurrent", {}).get("forward_ms", [])),
            max(found["gemm"]["tflops"]),
        )
        wanted = [float(row[name]) for name in [*row][2:]]
        assert times == pytest.approx(wanted, abs=0.006)


@pytest.mark.facts
def test_problems_match_the_published_lists() -> None:
    with (FOLDER / "gemm.training_set.csv").open(newline="") as stream:
        read = [
            [*map(int, row[:3]), *(int(each == "True") for each in row[3:])]
            for row in [*csv.reader(stream)][1:]
        ]
    assert rows("gemm", "training") == read
    with (FOLDER / "conv.inference_server_set.csv").open(newline="") as stream:
        assert rows("convolution", "server") == [
            [*map(int, row)] for row in [*csv.reader(stream)][1:]
        ]
    sizes = json.loads((FOLDER / "all_reduce.json").read_text())["sizes_float32_elements"]
    assert [size for (size,) in rows("all_reduce", "training")] == sizes
