"""Plots of results by their number of chips: on logarithmic axes, a color for each kind of chip."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from podium.compliance.tools.store.analyses.material import round_order
from podium.compliance.tools.store.site.plots import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    fits,
    scale,
)
from podium.compliance.tools.store.site.row import Row

OTHER = "cx"
"""The class of dots whose chip has no color."""


class Dot(NamedTuple):
    """A result in a plot; `row` is its place in the table, `kind` is the class of its color."""

    x: int
    y: int
    kind: str
    row: int
    result: str
    title: str


class Scatter(NamedTuple):
    """The content of a plot; `ideal` is the path of perfect scaling from the fewest chips."""

    label: str
    titles: tuple[str, str]
    across: Sequence[tuple[int, str]]
    upward: Sequence[tuple[int, str]]
    dots: Sequence[Dot]
    ideal: str = ""


class Measure(NamedTuple):
    """A number by which results are plotted."""

    name: str
    value: Callable[[Row], float | None]


def _chip_minutes(row: Row) -> float | None:
    return row["score"] * row["chips"] if row["score"] is not None and row["chips"] else None


def _energy(row: Row) -> float | None:
    return None if row["joules"] is None else float(row["joules"]) / 1000


MEASURES = (
    Measure("minutes †", lambda row: row["score"]),
    Measure("minutes x chips †", _chip_minutes),
    Measure("training to converge", lambda row: row["to_converge"]),
    Measure("energy, kJ †", _energy),
)


def timed(row: Row) -> bool:
    """Whether a result is a closed time to train on a known number of chips."""
    return (
        row["division"] == "closed"
        and row["scaling"] != "weak"
        and row["score"] is not None
        and bool(row["chips"])
    )


def chip_colors(rows: Sequence[Row]) -> dict[str, str]:
    """The class of each kind of chip; the most frequent ones of the newest rounds have colors."""
    colors: dict[str, str] = {}
    for name in sorted({row["round"] for row in rows}, key=round_order, reverse=True):
        counts = Counter(row["family"] for row in rows if row["round"] == name)
        for family, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            if len(colors) < COLOURS and family and family not in colors:
                colors[family] = f"c{len(colors)}"
    return colors


def scatters(
    rows: Sequence[Row], colors: dict[str, str], label: str, measures: Sequence[Measure] = MEASURES
) -> Iterator[Scatter]:
    """A plot for each measure that at least two results have; `rows` are the rows of the table."""
    newest = max(rows, key=lambda row: round_order(row["round"]), default={})
    x = Axis("chips", log=True)
    for measure in measures:
        y = Axis(measure.name, log=True)
        measured = [
            (index, row, float(row["chips"]), float(value))
            for index, row in enumerate(rows)
            if timed(row) and (value := measure.value(row)) and fits(value, y)
        ]
        if len(measured) < 2:
            continue
        to_x, across = scale([point[2] for point in measured], x, LEFT, WIDTH - RIGHT)
        to_y, upward = scale([point[3] for point in measured], y, HEIGHT - BOTTOM, TOP)
        dots = []
        for index, row, chips, value in measured:
            kind = _kind(row, newest, colors)
            dots.append(Dot(to_x(chips), to_y(value), kind, index, row["result"], _title(row)))
        points = [(point[2], point[3]) for point in measured]
        ideal = _ideal(points, to_x, to_y) if measure is MEASURES[0] else ""
        yield Scatter(label, (x.title, y.title), across, upward, dots, ideal)


def _kind(row: Row, newest: Row, colors: dict[str, str]) -> str:
    """The classes of a dot: no color if its round must not be compared with the newest."""
    if any(row[end] != newest[end] for end in ("comparable_from", "comparable_to")):
        return f"{OTHER} old"
    color = colors.get(row["family"], OTHER)
    return color if row["round"] == newest["round"] else f"{color} old"


def _title(row: Row) -> str:
    chips = f"{row['chips']} x {row['family'] or row['chip'] or 'chips'}"
    return f"{row['round']} {row['submitter']}, {chips}: {row['score']:.4g} minutes"


def _ideal(
    points: Sequence[tuple[float, float]],
    to_x: Callable[[float], int],
    to_y: Callable[[float], int],
) -> str:
    """Perfect scaling from the best result on the fewest chips, as far as the plot reaches."""
    chips, value = min(points)
    most = min(max(x for x, _ in points), chips * value / min(y for _, y in points))
    if most <= chips:
        return ""
    return f"M{to_x(chips)} {to_y(value)}L{to_x(most)} {to_y(value * chips / most)}"
