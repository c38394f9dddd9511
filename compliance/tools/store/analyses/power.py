"""Energy to train, of results whose power was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from podium.compliance.tools.store.analyses.material import ResultRow, mean
from podium.compliance.tools.store.analyses.table import Analysis, Shown

_BY = ("suite", "round", "model", "division")
COLUMNS = (
    *(*_BY, "category", "submitter", "system", "chips", "minutes", "joules", "kwh", "watts"),
    *("watts_per_chip", "verdict", "result"),
)
SHOWN = (
    *(Shown("submitter"), Shown("chips"), Shown("minutes", digits=5), Shown("joules", digits=6)),
    *(Shown("kwh", "kWh"), Shown("watts", digits=5), Shown("watts_per_chip", "W/chip")),
)

NOTES = (
    (
        "joules: mean energy of the scored runs from run_start to run_stop, of whole nodes and the "
        "interconnect, as measured; not scaled. watts: joules over the time of the same runs."
    ),
    "Only measured power is shown: no rated or estimated figure stands in for it.",
)


def power(results: Sequence[ResultRow]) -> Analysis:
    """The energy of each result that measured it, the least first."""
    rows = [row for one in results if (row := _row(one)) is not None]
    rows.sort(key=lambda row: (*(row[name] for name in _BY), row["joules"], row["result"]))
    title = "Power: energy to train, where it was measured"
    return Analysis("power", title, COLUMNS, rows, _BY, SHOWN, NOTES)


def _row(one: ResultRow) -> dict[str, Any] | None:
    minutes = mean([run.minutes for run in one.scored or one.counted])
    if one.joules is None or not minutes:
        return None
    watts = one.joules / (minutes * 60)
    told = (*_BY, "category", "submitter", "system", "chips", "joules", "verdict", "result")
    return {
        **{name: getattr(one, name) for name in told},
        "minutes": minutes,
        "kwh": one.joules / 3.6e6,
        "watts": watts,
        "watts_per_chip": watts / one.chips if one.chips else None,
    }
