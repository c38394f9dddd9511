"""Prints text and tables of at most the terminal's width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.text import Text

from podium.compliance.reporting.console import colored, plain_characters, print_text, width
from podium.compliance.text.terminal import wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import JustifyMethod, RenderableType

ASCII_HEAD = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n", ascii=True)
"""A line below the heads, as in box.SIMPLE_HEAD, for terminals with ASCII only."""

GAP = 2
"""Columns between two cells of a table."""

_NARROW = 12
"""Minimum width of a column with longer words."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table to print: heads and cells; numbers are right-aligned."""

    heads: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()


class Printer:
    """Prints to standard output, without colors if that is not a terminal."""

    def __init__(self) -> None:
        self.width = width()
        shine = colored()
        # Not highlighted: rich would color numbers and paths
        self.console = Console(
            width=self.width,
            highlight=False,
            soft_wrap=False,
            force_terminal=shine,
            color_system="standard" if shine else None,
        )

    def say(self, text: str = "", first: str = "", rest: str | None = None) -> None:
        """Print prose, wrapped at spaces."""
        for line in wrap(text, self.width, first, first if rest is None else rest):
            self._print(Text(line))

    def head(self, text: str, note: str = "") -> None:
        """Print a heading."""
        self.say()
        for line in wrap(text, self.width):
            self._print(Text(line, style="bold"))
        if note:
            self.say(note)

    def _print(self, renderable: RenderableType) -> None:
        """Print without the trailing blanks of table lines."""
        with self.console.capture() as capture:
            self.console.print(renderable)
        print_text("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))

    def grid(self, grid: Grid) -> None:
        """Print a table; cells that are too wide are wrapped."""
        # Imported late: the command must start fast, and prose needs no table
        from rich.table import Table as RichTable

        widths = _widths(grid, self.width)
        table = RichTable(
            box=ASCII_HEAD if plain_characters() else box.SIMPLE_HEAD,
            show_edge=False,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for index, head in enumerate(grid.heads):
            justify: JustifyMethod = "right" if index in grid.right else "left"
            table.add_column(Text(head), width=widths[index], no_wrap=True, justify=justify)
        for row in grid.cells:
            table.add_row(*(Text("\n".join(wrap(cell, widths[i]))) for i, cell in enumerate(row)))
        self._print(table)


def _widths(grid: Grid, room: int) -> list[int]:
    """Widths that fit: the widest columns shrink first, if possible not within a word."""
    columns = list(zip(grid.heads, *grid.cells, strict=True))
    maxima = [max(map(len, column)) for column in columns]
    space = room - GAP * (len(maxima) - 1) - 1
    minima = _least(columns, maxima, space)
    cap = max(maxima)
    while sum(_capped(maxima, minima, cap)) > space and cap > 3:
        cap -= 1
    widths = _capped(maxima, minima, cap)
    # The rest of the room goes to the widest column
    widths[maxima.index(max(maxima))] += max(0, min(space - sum(widths), max(maxima) - cap))
    return widths


def _least(columns: Sequence[tuple[str, ...]], maxima: Sequence[int], space: int) -> list[int]:
    """The longest word of each column; the first columns have priority if the room is short."""
    minima: list[int] = []
    for index, column in enumerate(columns):
        word = max((len(word) for cell in column for word in cell.split()), default=0)
        reserve = sum(min(size, _NARROW) for size in maxima[index + 1 :])
        minima.append(word if sum(minima) + word + reserve <= space else 0)
    return minima


def _capped(maxima: list[int], minima: list[int], cap: int) -> list[int]:
    return [max(low, min(size, cap)) for size, low in zip(maxima, minima, strict=True)]
