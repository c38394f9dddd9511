"""The answer of a query, or a table of an analysis, as text, CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from podium.compliance.files.optional_imports import needed
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean
from podium.compliance.tools.scoring.render.rows import cell as spreadsheet_cell
from podium.compliance.tools.store.building.records import EXTRA
from podium.compliance.tools.store.queries.formats import Format

Rows = Sequence[Sequence[Any]]

LONGEST = (40, 28, 20, 14)
"""Maximum characters of a string in a table, fewer in a narrow one; CSV and JSON have all."""


def render(columns: Sequence[str], rows: Rows, form: Format, columns_wide: int = 80) -> str:
    """The rows in a text format; for Parquet, see `parquet_bytes`."""
    if form is Format.JSON:
        return json_text([dict(zip(columns, row, strict=True)) for row in rows])
    if form is Format.CSV:
        return _csv(columns, rows)
    return text_table(columns, rows, columns_wide)


def _csv(columns: Sequence[str], rows: Rows) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([spreadsheet_cell(name) for name in columns])
    writer.writerows([[spreadsheet_cell(value) for value in row] for row in rows])
    # Half a surrogate pair, from a name that is not UTF-8
    return stream.getvalue().encode("utf-8", "replace").decode()


def text_table(columns: Sequence[str], rows: Rows, wide: int) -> str:
    """Rows as a table; strings are cut to fit, a table that is too wide has one value per line."""
    numbers = [
        all(isinstance(row[index], int | float) or row[index] is None for row in rows)
        for index in range(len(columns))
    ]
    for longest in LONGEST:
        cells = [[cell(value, longest) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        if sum(widths) + 2 * (len(widths) - 1) <= wide:
            return _aligned([[*columns], *cells], widths, numbers)
    return _one_by_one(columns, [[cell(value) for value in row] for row in rows])


def _aligned(lines: list[list[str]], widths: list[int], numbers: list[bool]) -> str:
    padded_lines = (
        "  ".join(
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, numbers, strict=True)
        ).rstrip()
        for line in lines
    )
    return "\n".join(padded_lines) + "\n"


def _one_by_one(columns: Sequence[str], cells: list[list[str]]) -> str:
    widest = max(map(len, columns))
    names = [name.ljust(widest) for name in columns]
    pieces = [
        "\n".join(f"{name}  {text}".rstrip() for name, text in zip(names, row, strict=True))
        for row in cells
    ]
    return "\n\n".join(pieces or [", ".join(columns)]) + "\n"


def cell(value: Any, longest: int = LONGEST[0]) -> str:
    """A value as a table shows it: six digits of numbers, long strings cut, a dash for null."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        is_whole = math.isfinite(value) and value.is_integer() and abs(value) < 1e15
        return str(int(value)) if is_whole else f"{value:.6g}"
    text = clean(str(value))
    return text if len(text) <= longest else f"…{text[1 - longest :]}"


def parquet_bytes(table: Any) -> bytes:
    """An Arrow table as a Parquet file."""
    needed("pyarrow", "Parquet", EXTRA)
    stream = io.BytesIO()
    import_module("pyarrow.parquet").write_table(table, stream, compression="zstd")
    return stream.getvalue()
