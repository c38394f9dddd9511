"""Small charts as numbers that a template draws as SVG: compact, without a library on the pages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from podium.compliance.reporting.pages.templates import brief

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 62, 12, 10, 44
"""Room for labels next to the axes, in the same units."""

COLOURS = 8
"""The number of line colors, as in the style sheet."""

LARGEST = 1e250
"""The largest value that can be drawn; its inverse is the smallest on logarithmic axes."""

Pairs = Sequence[tuple[float, float]]


class Line(NamedTuple):
    """Points of one line, in order; `kind` is its class in the style sheet.

    `title` is its tooltip; an empty title has none. `intervals` are (x, low, high).
    """

    points: Pairs
    title: str
    kind: str
    dotted: bool = False
    intervals: Sequence[tuple[float, float, float]] = ()


class Rule(NamedTuple):
    """A straight line across the chart at a value of one axis."""

    at: float
    title: str
    kind: str
    upright: bool = True


class Band(NamedTuple):
    """A shaded part of the horizontal axis."""

    low: float
    high: float
    title: str


class Axis(NamedTuple):
    """The quantity of an axis; `names` are the labels at 0, 1, … of an axis without numbers."""

    title: str
    log: bool = False
    names: Sequence[str] = ()


class Plot(NamedTuple):
    """The content of a chart: coordinates are whole numbers from the upper left corner.

    `lines` are (class, path, title), `dots` (class, across, down, title), `rules` (class, ends,
    title), `bands` (path, title).
    """

    label: str
    titles: tuple[str, str]
    across: Sequence[tuple[int, str]]
    upward: Sequence[tuple[int, str]]
    lines: Sequence[tuple[str, str, str]]
    dots: Sequence[tuple[str, int, int, str]]
    rules: Sequence[tuple[str, tuple[int, int, int, int], str]]
    bands: Sequence[tuple[str, str]] = ()


def plot(
    label: str,
    x: Axis,
    y: Axis,
    lines: Sequence[Line],
    rules: Sequence[Rule] = (),
    bands: Sequence[Band] = (),
) -> Plot | None:
    """A chart of lines; None if no point can be drawn."""
    drawn = [_drawable(line, x, y) for line in lines]
    drawn = [line for line in drawn if line.points]
    if not drawn:
        return None
    visible_rules = [rule for rule in rules if fits(rule.at, x if rule.upright else y)]
    shaded = [band for band in bands if fits(band.low, x) and fits(band.high, x)]
    xs, ys = _extents(drawn, visible_rules, shaded)
    to_x, across = scale(xs, x, LEFT, WIDTH - RIGHT)
    to_y, upward = scale(ys, y, HEIGHT - BOTTOM, TOP)
    pixel_lines = [
        (line, list(dict.fromkeys((to_x(a), to_y(b)) for a, b in line.points))) for line in drawn
    ]
    return Plot(
        label,
        (x.title, y.title),
        across,
        upward,
        [*_paths(pixel_lines, to_x, to_y)],
        [
            (line.kind, a, b, line.title)
            for line, points in pixel_lines
            if line.dotted or len(points) == 1
            for a, b in points
        ],
        [(rule.kind, _ends(rule, to_x, to_y), rule.title) for rule in visible_rules],
        [
            (
                f"M{to_x(band.low)} {TOP}H{to_x(band.high)}V{HEIGHT - BOTTOM}H{to_x(band.low)}Z",
                band.title,
            )
            for band in shaded
        ],
    )


def _path(points: Sequence[tuple[int, int]]) -> str:
    """A line through points as an SVG path with relative coordinates, which saves a third."""
    steps = (f"{a - c} {b - d}" for (c, d), (a, b) in pairwise(points))
    return f"M{points[0][0]} {points[0][1]}l{' '.join(steps)}".replace(" -", "-")


def _paths(
    lines: Sequence[tuple[Line, Sequence[tuple[int, int]]]],
    to_x: Callable[[float], int],
    to_y: Callable[[float], int],
) -> Iterator[tuple[str, str, str]]:
    for line, points in lines:
        if len(points) > 1:
            yield line.kind, _path(points), line.title
        if line.intervals:
            yield f"{line.kind} interval", _whiskers(line.intervals, to_x, to_y), line.title


def _whiskers(
    intervals: Sequence[tuple[float, float, float]],
    to_x: Callable[[float], int],
    to_y: Callable[[float], int],
) -> str:
    """Upright lines from the low to the high end of each interval, with a short bar at each end."""
    return "".join(
        f"M{to_x(position) - 3} {to_y(low)}h6m-3 0V{to_y(high)}m-3 0h6"
        for position, low, high in intervals
    )


def fits(value: float, axis: Axis) -> bool:
    """Whether an axis can show a value."""
    return abs(value) < LARGEST and (not axis.log or value > 1 / LARGEST)


def _drawable(line: Line, x: Axis, y: Axis) -> Line:
    """The points and intervals of a line that the axes can show."""
    points = [(a, b) for a, b in line.points if fits(a, x) and fits(b, y)]
    intervals = [
        (position, low, high)
        for position, low, high in line.intervals
        if fits(position, x) and fits(low, y) and fits(high, y)
    ]
    return line._replace(points=points, intervals=intervals)


def _extents(
    lines: Sequence[Line], rules: Sequence[Rule], bands: Sequence[Band]
) -> tuple[list[float], list[float]]:
    """All values on the horizontal and on the vertical axis."""
    points = [point for line in lines for point in line.points]
    xs = [a for a, _ in points] + [rule.at for rule in rules if rule.upright]
    ys = [b for _, b in points] + [rule.at for rule in rules if not rule.upright]
    xs += [end for band in bands for end in (band.low, band.high)]
    ys += [end for line in lines for _, *ends in line.intervals for end in ends]
    return xs, ys


def _ends(
    rule: Rule, to_x: Callable[[float], int], to_y: Callable[[float], int]
) -> tuple[int, int, int, int]:
    if rule.upright:
        position = to_x(rule.at)
        return position, TOP, position, HEIGHT - BOTTOM
    position = to_y(rule.at)
    return LEFT, position, WIDTH - RIGHT, position


def scale(
    values: Sequence[float], axis: Axis, start: int, end: int
) -> tuple[Callable[[float], int], list[tuple[int, str]]]:
    """The function from a value of an axis to its place, and the ticks: (place, text)."""
    if axis.names:
        low, high = -0.3, len(axis.names) - 0.7
    else:
        low, high = min(values), max(values)
    if axis.log:
        low, high = math.log10(low), math.log10(high)
    # A curve must not touch the frame, and a single value must have room around it
    room = (high - low) * 0.04 or abs(low) * 0.1 or 1.0
    low, high = (low, high) if axis.names else (low - room, high + room)

    def place(value: float) -> int:
        scaled = math.log10(value) if axis.log else value
        return round(start + (scaled - low) / (high - low) * (end - start))

    if axis.names:
        return place, [(place(index), name) for index, name in enumerate(axis.names)]
    ticks = _log_ticks(low, high) if axis.log else _ticks(low, high)
    return place, [(place(tick), brief(tick)) for tick in ticks]


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers between two ends."""
    step = (high - low) / count
    size = 10.0 ** math.floor(math.log10(step))
    step = next((size * factor for factor in (1, 2, 5) if size * factor >= step), size * 10)
    first = math.ceil(low / step)
    ticks = [index * step for index in range(first, math.floor(high / step) + 1)]
    return [0.0 if abs(tick) < step / 1e6 else tick for tick in ticks][: 4 * count]


def _log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between powers of ten: 1, 2 and 5, or fewer if there are many."""
    for among in ((1, 2, 5), (1,)):
        powers = range(math.floor(low), math.ceil(high) + 1)
        ticks = [factor * 10.0**power for power in powers for factor in among]
        ticks = [tick for tick in ticks if low <= math.log10(tick) <= high]
        if 2 <= len(ticks) <= 8:
            return ticks
    if len(ticks) > 8:
        return ticks[:: -(-len(ticks) // 8)]
    return _ticks(10.0**low, 10.0**high, 4)
