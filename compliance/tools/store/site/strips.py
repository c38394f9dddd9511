"""The runs of a result next to those of its peers, and small pictures of runs in tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from podium.compliance.tools.store.site.plots import LARGEST, Axis, scale
from podium.compliance.tools.store.site.row import Row
from podium.compliance.tools.store.site.scatter import timed

MOST_PEERS = 5
LEFT, RIGHT, STEP = 210, 630, 22


class Strip(NamedTuple):
    """One line of a plot of runs: the result, its label, the places of its runs."""

    result: str
    label: str
    y: int
    places: Sequence[int]
    own: bool


class Strips(NamedTuple):
    """A plot of runs by their minutes; the first line is the result itself."""

    lines: Sequence[Strip]
    across: Sequence[tuple[int, str]]
    height: int


def strips(
    own: Row, rows: Sequence[Row], runs: Mapping[str, Sequence[Row]]
) -> tuple[Strips | None, Sequence[Row]]:
    """The runs of a timed result and of the nearest results of its round, and these peers."""
    if not timed(own):
        return None, ()
    near = [row for row in rows if timed(row) and row["model"] == own["model"]]
    near = [row for row in near if row["result"] != own["result"]]
    near.sort(
        key=lambda row: (abs(math.log2(row["chips"] / own["chips"])), row["score"], row["result"])
    )
    shown = [own, *near[:MOST_PEERS]]
    minutes = {
        row["result"]: [
            run["minutes"]
            for run in runs.get(row["result"], ())
            if run["role"] in ("scored", "fastest", "slowest")
            and run["minutes"]
            and 1 / LARGEST < run["minutes"] < LARGEST
        ]
        for row in shown
    }
    every = [each for found in minutes.values() for each in found]
    if not minutes[own["result"]]:
        return None, near[:MOST_PEERS]
    place, ticks = scale(every, Axis("minutes", log=True), LEFT, RIGHT)
    lines = [
        Strip(
            row["result"],
            f"{row['submitter']}, {row['chips']} x {row['family'] or 'chips'}",
            STEP * at + 14,
            sorted({place(each) for each in minutes[row["result"]]}),
            row is own,
        )
        for at, row in enumerate(shown)
    ]
    return Strips(lines, ticks, STEP * len(shown) + 30), near[:MOST_PEERS]


def run_dots(minutes: Sequence[float]) -> list[int]:
    """The places of the runs of one result on a scale of 0 to 100, about their mean."""
    known = [each for each in minutes if 0 < each < LARGEST]
    if not known:
        return []
    low, high = min(known), max(known)
    # At least a tenth of the time to each side, so that a narrow spread looks narrow
    reach = max((high - low) / 2, (low + high) / 20)
    middle = (low + high) / 2
    return sorted({round(50 + 46 * (each - middle) / reach) for each in known})
