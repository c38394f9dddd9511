"""Scores as flat rows and as CSV: one row per result, or with `long` one row per run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from podium.compliance.text.terminal import clean

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import ScoreEntry, Scores


RESULT_COLUMNS = (
    "round",
    "submitter",
    "system",
    "benchmark",
    "division",
    "scaling",
    "path",
    "runs",
    "converged",
    "minutes",
    "factor",
    "factor_source",
    "factors",
    "published_factor",
    "computed_factor",
    "score",
    "energy_joules",
    "scaled_energy_joules",
    "models",
    "instance_scale",
    "total_scale",
    "time_to_train_all",
    "models_per_minute",
    "batch_size",
    "to_converge",
    "unit",
    "quality",
)
_SPREAD_COLUMNS = ("deviation", "relative", "usual")
_RCP_COLUMNS = ("verdict", "case", "mean", "minimum")

_IDENTITY = ("round", "submitter", "system", "benchmark", "division", "scaling")
RUN_COLUMNS = (
    "path",
    "minutes",
    "converged",
    "scored",
    "role",
    "why",
    "start_ms",
    "stop_ms",
    "init_minutes",
    "staging_minutes",
    "to_converge",
    "batch_size",
    "quality",
    "energy_joules",
)


def result_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    """One row per result."""
    for entry in scores.results:
        row = {name: getattr(entry, name) for name in RESULT_COLUMNS}
        row |= _parts("spread", entry.spread, _SPREAD_COLUMNS)
        row |= _parts("rcp", entry.rcp, _RCP_COLUMNS)
        yield row


def result_columns() -> tuple[str, ...]:
    """The columns of `result_rows`."""
    spread = tuple(f"spread_{name}" for name in _SPREAD_COLUMNS)
    return (*RESULT_COLUMNS, *spread, *(f"rcp_{name}" for name in _RCP_COLUMNS))


def _parts(prefix: str, part: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {f"{prefix}_{name}": None if part is None else getattr(part, name) for name in names}


def run_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    """One row per run, with the identity of its result; seeds are a JSON list."""
    for entry in scores.results:
        yield from _runs(entry)


def _runs(entry: ScoreEntry) -> Iterator[dict[str, Any]]:
    same = {name: getattr(entry, name) for name in _IDENTITY}
    for number, run in enumerate(entry.run_list):
        row = {**same, "result": entry.path, "run": number}
        row |= {name: getattr(run, name) for name in RUN_COLUMNS}
        # A run may log several seeds, and a cell holds one value
        yield {**row, "unit": entry.unit, "seed": json.dumps(run.seed, default=str)}


def run_columns() -> tuple[str, ...]:
    """The columns of `run_rows`."""
    return (*_IDENTITY, "result", "run", *RUN_COLUMNS, "unit", "seed")


# A spreadsheet evaluates a cell that starts with one of these, and logs contain untrusted names
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
    """A value for a spreadsheet; a string that a program would treat as a formula is quoted."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text
