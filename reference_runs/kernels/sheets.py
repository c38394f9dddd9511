"""DeepBench's public sheets of eleven devices, as references to compare with (Apache-2.0).

Known errors in them are corrected here, and listed in the notes of a sheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from podium.reference_runs.errors import RunFault
from podium.reference_runs.kernels.compare import DeviceTimes
from podium.reference_runs.kernels.lists import TRAINED_CONVOLUTION, plain, rows
from podium.reference_runs.kernels.problems import (
    AllReduce,
    Convolution,
    Gemm,
    Problem,
    Recurrent,
)

SLIPPED_K = {1530: 1536}
"""All sheets except AMD's have the first value in eight rows whose problem has the second."""
SLIPPED_ELEMENTS = {16777216: 16777217}
"""Every sheet of all-reduces has the first value, the list has the second."""

Times = Iterator[tuple[Problem, float | None]]


def names() -> tuple[str, ...]:
    """The sheets: device and precision."""
    return tuple(name for name in plain("sheets.json") if ":" in name)


def sheet(name: str) -> DeviceTimes:
    """A sheet by name; without a precision, the fp32 sheet. Raises RunFault if unknown."""
    known = name if ":" in name else f"{name}:fp32"
    if known not in names():
        near = get_close_matches(known, names(), 1)
        hint = f"did you mean {near[0]}" if near else "see podium kernels compare --list"
        raise RunFault(f"neither a file nor a public sheet is named {name}; {hint}")
    tables = plain("sheets.json")[known]
    times: dict[Problem, list[float]] = {}
    for kind, read in _READERS.items():
        for problem, ms in read(tables[kind]) if kind in tables else ():
            # N/A in the sheet
            if ms:
                times.setdefault(problem, []).append(ms)
    device, _, precision = known.partition(":")
    return DeviceTimes(
        name=known,
        precision=precision,
        ms={problem: sum(values) / len(values) for problem, values in times.items()},
        notes=tuple(_notes(device, tables)),
    )


def _gemms(table: Mapping[str, Any]) -> Times:
    listed = rows("gemm", "training")
    for index, ms in enumerate(table["ms"]):
        m, n, k, a_t, b_t = table.get("other", {}).get(str(index), listed[index])
        yield Gemm(m, n, SLIPPED_K.get(k, k), bool(a_t), bool(b_t)), ms


def _convolutions(table: Mapping[str, Any]) -> Times:
    for index, row in enumerate(rows("convolution", "training")):
        for direction in TRAINED_CONVOLUTION:
            yield replace(Convolution(*row), direction=direction), table[f"{direction}_ms"][index]


def _recurrents(table: Mapping[str, Any]) -> Times:
    for index, row in enumerate(rows("recurrent", "training")):
        yield replace(Recurrent(*row), direction="forward"), table["forward_ms"][index]
        backward = table["backward_ms"][index]
        if backward is not None:
            # Some sheets have a separate column for the weights' gradient
            backward += table["backward_weights_ms"][index] or 0
        yield replace(Recurrent(*row), direction="backward"), backward


def _all_reduces(entries: Any) -> Times:
    for elements, ranks, _nodes, ms, *_ in entries:
        yield AllReduce(SLIPPED_ELEMENTS.get(elements, elements), ranks), ms


_READERS = {
    "gemm": _gemms,
    "convolution": _convolutions,
    "recurrent": _recurrents,
    "all_reduce": _all_reduces,
}


def _notes(device: str, tables: Mapping[str, Any]) -> Iterator[str]:
    others = tables.get("gemm", {}).get("other", {}).values()
    slips = sum(row[2] in SLIPPED_K for row in others)
    if slips:
        yield f"{device}: K is 1530 in {slips} rows of the sheet, read as 1536, as in the list"
    if len(others) > slips:
        yield f"{device}: {len(others) - slips} products have other dimensions than in the list"
    if tables.get("convolution", {}).get("p_q"):
        count = len(tables["convolution"]["p_q"])
        yield f"{device}: {count} rates of the sheet count half a pixel less; corrected here"
