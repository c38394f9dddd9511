"""The runs of a result next to those of its peers, and small pictures of runs in tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from podium.compliance.text.terminal import clean, clip
from podium.compliance.tools.store.site.plots import LARGEST, Axis, scale
from podium.compliance.tools.store.site.row import Row
from podium.compliance.tools.store.site.scatter import timed

MOST_PEERS = 5
LEFT, RIGHT, STEP = 210, 630, 22
MOST_CHARACTERS = 26
"""Maximum number of characters of a label: more do not fit to the left of the plot."""


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
    result: Row, rows: Sequence[Row], runs: Mapping[str, Sequence[Row]]
) -> tuple[Strips | None, Sequence[Row]]:
    """The runs of a timed result and of the nearest results of its round, and these peers."""
    if not timed(result):
        return None, ()
    peers = [row for row in rows if timed(row) and row["model"] == result["model"]]
    peers = [row for row in peers if row["result"] != result["result"]]
    peers.sort(
        key=lambda row: (
            abs(math.log2(row["chips"] / result["chips"])),
            row["score"],
            row["result"],
        )
    )
    shown_rows = [result, *peers[:MOST_PEERS]]
    minutes = {
        row["result"]: [
            run["minutes"]
            for run in runs.get(row["result"], ())
            if run["role"] in ("scored", "fastest", "slowest")
            and run["minutes"]
            and 1 / LARGEST < run["minutes"] < LARGEST
        ]
        for row in shown_rows
    }
    all_minutes = [value for values in minutes.values() for value in values]
    if not minutes[result["result"]]:
        return None, peers[:MOST_PEERS]
    to_x, ticks = scale(all_minutes, Axis("minutes", log=True), LEFT, RIGHT)
    lines = [
        Strip(
            row["result"],
            _label(row),
            STEP * index + 14,
            sorted({to_x(value) for value in minutes[row["result"]]}),
            row is result,
        )
        for index, row in enumerate(shown_rows)
    ]
    return Strips(lines, ticks, STEP * len(shown_rows) + 30), peers[:MOST_PEERS]


def _label(row: Row) -> str:
    chips = f", {row['chips']} \N{MULTIPLICATION SIGN} {row['family'] or 'chips'}"
    return clip(clean(row["submitter"]), max(MOST_CHARACTERS - len(chips), 4)) + chips


def run_dots(minutes: Sequence[float]) -> list[int]:
    """The places of the runs of one result on a scale of 0 to 100, about their mean."""
    numbers = [value for value in minutes if 0 < value < LARGEST]
    if not numbers:
        return []
    low, high = min(numbers), max(numbers)
    # At least a tenth of the time to each side, so that a narrow spread looks narrow
    reach = max((high - low) / 2, (low + high) / 20)
    middle = (low + high) / 2
    return sorted({round(50 + 46 * (value - middle) / reach) for value in numbers})
