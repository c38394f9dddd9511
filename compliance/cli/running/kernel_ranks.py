"""Options for the processes of an all-reduce, which may form a mesh."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from podium.compliance.errors import UsageFault

RANKS = 2
"""Default number of processes of an all-reduce."""

RanksOption = Annotated[
    int, typer.Option("--ranks", min=1, help="Processes of an all-reduce.", metavar="N")
]
MeshOption = Annotated[
    str | None,
    typer.Option(
        "--mesh",
        help="Rows and columns of processes; an all-reduce sums along each in turn.",
        metavar="RxC",
    ),
]


def rows_and_ranks(mesh: str, ranks: int) -> tuple[int, int]:
    """The rows of a mesh such as 2x4, and all its ranks; raises UsageFault."""
    match = re.fullmatch(r"([1-9]\d{0,3})x([1-9]\d{0,3})", mesh, re.ASCII)
    if match is None:
        raise UsageFault(f"--mesh is {mesh}; expected rows and columns, such as 2x4")
    rows, columns = map(int, match.groups())
    if ranks not in (RANKS, rows * columns):
        raise UsageFault(f"--mesh {mesh} has {rows * columns} ranks; --ranks is {ranks}")
    return rows, rows * columns
