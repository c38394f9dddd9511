"""Plain tables with a maximum width, and optional headings between the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from podium.compliance.text.terminal import columns, wrap

GAP = "  "


@dataclass(frozen=True, slots=True)
class Heading:
    """A line across the table, above its rows."""

    text: str


Row = Sequence[str] | Heading


def table(
    heads: Sequence[str], rows: Iterable[Row], width: int, left: Sequence[int] = (0,)
) -> list[str]:
    """The lines of a table; the columns in `left` contain text, the others numbers.

    If the table is too wide, the cells of the widest text column are wrapped.
    """
    all_rows = list(rows)
    widths = _widths(heads, [row for row in all_rows if not isinstance(row, Heading)], width, left)
    lines = _row(heads, widths, left)
    lines.append(GAP.join("-" * column_width for column_width in widths))
    for row in all_rows:
        if isinstance(row, Heading):
            lines += wrap(row.text, width, "", "  ")
        else:
            lines += _row(row, widths, left)
    return [line.rstrip() for line in lines]


def _widths(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, left: Sequence[int]
) -> list[int]:
    widths = [max(map(columns, column)) for column in zip(heads, *rows, strict=True)]
    surplus = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while surplus > 0:
        widest = max(left, key=lambda i: widths[i])
        if widths[widest] <= 8:
            break
        widths[widest] -= 1
        surplus -= 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], left: Sequence[int]) -> list[str]:
    # Numbers are never wrapped: a part of a number looks like another number
    wrapped = [wrap(cell, widths[i]) if i in left else [cell] for i, cell in enumerate(cells)]
    height = max(map(len, wrapped))
    lines = []
    for line_index in range(height):
        parts = []
        for index, lines_of in enumerate(wrapped):
            text = lines_of[line_index] if line_index < len(lines_of) else ""
            room = " " * max(0, widths[index] - columns(text))
            parts.append(text + room if index in left else room + text)
        lines.append(GAP.join(parts))
    return lines
