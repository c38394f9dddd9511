"""Write the generated columns of the tables of trainers in `docs/trainer_list.md` and `meshes.md`.

Run `python docs/site/trainers.py` after a change of a benchmark's rounds, division, axes or target.
The other columns are written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from podium.reference_runs.catalogue import Benchmark, find, names  # noqa: E402 - path set above

ROW = re.compile(r"^\| `(\w+)` \|.*\|$")
NONE = "\N{EN DASH}"


def rounds(benchmark: Benchmark) -> str:
    """The rounds as in `podium run --list`, without the word for training."""
    if not benchmark.rounds:
        return "none"
    first, last = benchmark.rounds[0], benchmark.rounds[-1]
    span = first if first == last else f"{first} to {last}"
    return f"HPC {span}" if benchmark.usage == "hpc" else span


def division(benchmark: Benchmark) -> str:
    """The division in which a smoke run passes."""
    return benchmark.division if benchmark.rounds else NONE


def reference_target(benchmark: Benchmark) -> str:
    """The target at reference scale, if it is not the smoke target."""
    smoke, real = benchmark.smoke().target, benchmark.reference().target
    return NONE if smoke == real else f"{real:g}"


Column = Callable[[Benchmark], str]
COLUMNS: Mapping[str, Mapping[str, Column]] = {
    "trainer_list.md": {
        "rounds": rounds,
        "division": division,
        "reference target": reference_target,
    },
    "meshes.md": {"axes": lambda benchmark: ", ".join(benchmark.axes)},
}
"""The generated columns of each page, by the heading of the column."""


def page(name: str) -> str:
    """The page with the generated cells of its tables."""
    headings: list[str] = []
    lines = []
    for line in (DOCS / name).read_text(encoding="utf-8").splitlines():
        row = ROW.match(line)
        if line.startswith("| ") and not headings:
            headings = _cells(line)
        elif not line.startswith("|"):
            headings = []
        lines.append(_filled(line, headings, COLUMNS[name]) if row and row[1] in names() else line)
    return "\n".join(lines) + "\n"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _filled(line: str, headings: list[str], columns: Mapping[str, Column]) -> str:
    cells = _cells(line)
    benchmark = find(cells[0].strip("`"))
    for at, heading in enumerate(headings):
        if heading in columns:
            cells[at] = columns[heading](benchmark)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for each in COLUMNS:
        (DOCS / each).write_text(page(each), encoding="utf-8")
