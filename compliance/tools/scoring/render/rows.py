"""Scores as flat rows: one per result, and the tidy long form with one per run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

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
    """One row per run, with what names its result; seeds are a JSON list."""
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
