"""The efficiency of families of results as bars for a terminal."""

from __future__ import annotations

from podium.compliance.reporting.bars import Bar, bars
from podium.compliance.tools.store.analyses.table import UNOFFICIAL, Analysis


def scaling_bars(analysis: Analysis, width: int) -> str:
    """A bar for each number of chips of each family, with the notice that it is derived."""
    lines = [
        Bar(
            " · ".join(str(row[name]) for name in analysis.by if row[name]),
            f"{row['chips']} chips",
            row["efficiency"],
            f"{row['efficiency'] * 100:.3g} %",
        )
        for row in analysis.rows
        if row["efficiency"] is not None
    ]
    return f"{bars(lines, width)}\n{UNOFFICIAL}\n"
