"""Scores as CSV: plain columns, numbers at full precision."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from podium.compliance.text.terminal import clean
from podium.compliance.tools.scoring.render.rows import (
    result_columns,
    result_rows,
    run_columns,
    run_rows,
)

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores

# A spreadsheet runs a cell that begins so, and anyone may name a system in a log
_FORMULAS = ("=", "+", "-", "@")


def to_csv(scores: Scores, *, long: bool = False) -> str:
    """One row per result, or with `long` one per run."""
    columns = run_columns() if long else result_columns()
    rows = run_rows(scores) if long else result_rows(scores)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(row[name]) for name in columns])
    return stream.getvalue()


def cell(value: Any) -> Any:
    """A value for a spreadsheet: text that a program would take for a formula is quoted."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text
