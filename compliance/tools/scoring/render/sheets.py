"""Scores for other programs: an Excel workbook or a Parquet file; both need an extra."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.compliance.files.optional_imports import needed
from podium.compliance.reporting.console import write_bytes
from podium.compliance.text.terminal import clean
from podium.compliance.tools.scoring.render.rows import (
    result_columns,
    result_rows,
    run_columns,
    run_rows,
)

if TYPE_CHECKING:
    from podium.compliance.reporting.models import FindingEntry
    from podium.compliance.tools.scoring.report import Scores

EXTRA = "tables"
"""The extra that installs the libraries for these formats."""

_Sheet = tuple[str, Sequence[str], Iterable[Mapping[str, Any]]]

_FINDINGS = ("severity", "path", "id", "message", "hint")


def write_xlsx(scores: Scores, output: Path) -> None:
    """Write a workbook with the sheets results, runs and findings."""
    sheets: list[_Sheet] = [
        ("results", result_columns(), result_rows(scores)),
        ("runs", run_columns(), run_rows(scores)),
        ("findings", _FINDINGS, (_finding(finding) for finding in scores.findings)),
    ]
    write_sheets(sheets, output)


def _finding(finding: FindingEntry) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in _FINDINGS}


def write_sheets(sheets: Iterable[_Sheet], output: Path) -> None:
    """Write a workbook with one of the two supported libraries, whichever is installed."""
    library = _first_of("openpyxl", "xlsxwriter") or needed("openpyxl", "xlsx", EXTRA)
    stream = io.BytesIO()
    if library.__name__ == "openpyxl":
        _by_openpyxl(library, sheets, stream)
    else:
        _by_xlsxwriter(library, sheets, stream)
    _write(output, stream.getvalue())


def _by_openpyxl(library: Any, sheets: Iterable[_Sheet], stream: io.BytesIO) -> None:
    book = library.Workbook()
    book.remove(book.active)
    for title, columns, rows in sheets:
        sheet = book.create_sheet(title)
        sheet.append(list(columns))
        for number, row in enumerate(rows, 2):
            for index, name in enumerate(columns, 1):
                cell = sheet.cell(number, index, _plain(row[name]))
                if isinstance(row[name], str):
                    cell.data_type = "s"  # never a formula, even if it looks like one
        sheet.freeze_panes = "A2"
    book.save(stream)


def _by_xlsxwriter(library: Any, sheets: Iterable[_Sheet], stream: io.BytesIO) -> None:
    # By default, the library turns strings into formulas and links
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with library.Workbook(stream, options) as book:
        for title, columns, rows in sheets:
            sheet = book.add_worksheet(title)
            sheet.write_row(0, 0, list(columns))
            for number, row in enumerate(rows, 1):
                sheet.write_row(number, 0, [_plain(row[name]) for name in columns])
            sheet.freeze_panes(1, 0)


def _plain(value: Any) -> Any:
    return clean(str(value)) if isinstance(value, str) else value


def write_parquet(scores: Scores, output: Path, *, long: bool) -> None:
    """Write one row per result, or with `long` one per run."""
    arrow = needed("pyarrow", "parquet", EXTRA)
    parquet = import_module("pyarrow.parquet")
    columns = run_columns() if long else result_columns()
    rows = list(run_rows(scores) if long else result_rows(scores))
    typed = {name: _typed(arrow, name, long=long) for name in columns}
    fields = [arrow.field(name, kind) for name, kind in typed.items()]
    arrays = [
        arrow.array([_cast(row[name], kind, arrow) for row in rows], type=kind)
        for name, kind in typed.items()
    ]
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(arrays, schema=arrow.schema(fields)), stream)
    _write(output, stream.getvalue())


_WHOLE = frozenset({"runs", "models", "run"})
_TRUTHS = frozenset({"scored", "converged"})
_WORDS = frozenset(
    [
        "round",
        "submitter",
        "system",
        "benchmark",
        "division",
        "scaling",
        "path",
        "factor_source",
        "factors",
        "unit",
        "role",
        "why",
        "result",
        "seed",
        "rcp_verdict",
        "rcp_case",
    ]
)


def _typed(arrow: Any, name: str, *, long: bool) -> Any:
    """The type of a column, which does not depend on the values in the table."""
    if name in _WORDS:
        return arrow.string()
    # For a result, this is the number of runs; for a run, a flag
    if name == "converged" and not long:
        return arrow.int64()
    if name in _TRUTHS:
        return arrow.bool_()
    return arrow.int64() if name in _WHOLE else arrow.float64()


def _cast(value: Any, kind: Any, arrow: Any) -> Any:
    return None if value is None else float(value) if kind == arrow.float64() else value


def _first_of(*names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


def _write(output: Path, data: bytes) -> None:
    # Created in memory and renamed, so that no program opens a partial workbook
    write_bytes(output, data)
