"""Energy to train of results whose power was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from podium.compliance.tools.store.analyses.material import ResultRow, mean
from podium.compliance.tools.store.analyses.table import Analysis, Shown

_BY = ("suite", "round", "model", "division")
COLUMNS = (
    *(*_BY, "category", "submitter", "system", "chips", "minutes", "official_joules"),
    *("energy_gap", "joules", "kwh", "watts", "watts_per_chip", "verdict", "result"),
)
SHOWN = (
    *(Shown("submitter"), Shown("chips"), Shown("minutes", digits=5)),
    *(Shown("official_joules", "official J", digits=9), Shown("energy_gap", "why blank")),
    *(Shown("joules", "derived J", digits=6), Shown("kwh", "derived kWh")),
    *(Shown("watts", "derived W", digits=5), Shown("watts_per_chip", "derived W/chip")),
)

NOTES = (
    (
        "official J: as the official summary computes and scales it, or the reason if it has none. "
        "derived J: mean energy of the scored runs from run_start to run_stop, of whole nodes and "
        "the interconnect, as measured; not scaled. derived W: these joules over the time of the "
        "same runs."
    ),
    "Only measured power is shown, no rated or estimated figures.",
)


def power(results: Sequence[ResultRow]) -> Analysis:
    """The energy of each result that measured it, the least first; a blank has a reason."""
    rows = [row for result in results if (row := _row(result)) is not None]
    rows.sort(key=lambda row: (*(row[name] for name in _BY), _least(row), row["result"]))
    title = "Power: measured energy to train"
    return Analysis("power", title, COLUMNS, rows, _BY, SHOWN, NOTES)


def _least(row: dict[str, Any]) -> float:
    energies = (row["official_joules"], row["joules"])
    return next((energy for energy in energies if energy is not None), math.inf)


def _row(result: ResultRow) -> dict[str, Any] | None:
    minutes = mean([run.minutes for run in result.scored or result.counted])
    if result.joules is None and result.official_joules is None and not result.energy_gap:
        return None
    watts = result.joules / (minutes * 60) if result.joules is not None and minutes else None
    columns = (
        *(*_BY, "category", "submitter", "system", "chips", "joules", "verdict", "result"),
        *("official_joules", "energy_gap"),
    )
    return {
        **{name: getattr(result, name) for name in columns},
        "minutes": minutes,
        "kwh": None if result.joules is None else result.joules / 3.6e6,
        "watts": watts,
        "watts_per_chip": watts / result.chips if watts is not None and result.chips else None,
    }
