"""Pictures of a profile as shapes with positions, which the template draws as SVG."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]

WIDTH, ROW = 1000.0, 22.0
"""The width of a picture, and the height of a row, in units."""
LETTER = 8.0
"""The approximate width of a letter."""
TALL = 320.0


class Box(NamedTuple):
    """A rectangle with a label, which is cut to fit, and a tooltip."""

    x: float
    y: float
    width: float
    height: float
    label: str
    title: str
    shade: int


class Dot(NamedTuple):
    """A point of the roofline picture."""

    x: float
    y: float
    radius: float
    title: str


class RoofLine(NamedTuple):
    """One roof of the extended picture: its line, its dot with a label, and its place in colors."""

    points: str
    dot: Dot
    label: str
    shade: int


class Roofs(NamedTuple):
    """The extended roofline: a line and a dot for each limit, the ceiling, and marks of axes."""

    ceiling: float
    lines: list[RoofLine]
    below: list[tuple[float, str]]
    left: list[tuple[float, str]]


class Roofline(NamedTuple):
    """The roof as a polyline, operators as dots, and marks (position, text) of both axes."""

    roof: str
    dots: list[Dot]
    below: list[tuple[float, str]]
    left: list[tuple[float, str]]


def icicle(layers: Sequence[Row]) -> list[Box]:
    """Modules below their parent modules, with widths proportional to time."""
    by_name = {layer["name"]: layer for layer in layers}
    children: dict[str, list[str]] = defaultdict(list)
    for name in by_name:
        if name:
            children[_holder(name, by_name)].append(name)
    if "" not in by_name:
        return []
    return [*_boxes("", (0.0, WIDTH, 0), by_name, children)]


def _holder(name: str, by_name: Mapping[str, Row]) -> str:
    """The nearest parent module that runs; a list of modules does not."""
    name = name.rpartition(".")[0]
    while name not in by_name:
        name = name.rpartition(".")[0]
    return name


def _boxes(
    name: str,
    extent: tuple[float, float, int],
    by_name: Mapping[str, Row],
    children: Mapping[str, Sequence[str]],
) -> Iterator[Box]:
    x, width, depth = extent
    layer, own_time = by_name[name], _time(by_name[name])
    label = name.removeprefix(f"{_holder(name, by_name)}.") if name else layer["kind"]
    caption = label[: int(width / LETTER) - 1]
    caption = caption if width > 4 * LETTER else ""
    title = (
        f"{name or layer['kind']}: forward {layer['forward_ms']:.3f} ms,"
        f" backward {layer['backward_ms']:.3f} ms"
    )
    yield Box(x, depth * ROW, width, ROW - 1, caption, title, depth % 4)
    inner = children.get(name, ())
    # Modules that overlap on a device may add up to more than their parent
    total = max(own_time, sum(_time(by_name[child]) for child in inner))
    for child in inner:
        part = width * _time(by_name[child]) / total if total else 0.0
        if part > 0.5:
            yield from _boxes(child, (x, part, depth + 1), by_name, children)
        x += part


def _time(layer: Row) -> float:
    return float(layer["forward_ms"] + layer["backward_ms"])


def roofline(operators: Sequence[Row], roof: Row | None) -> Roofline | None:
    """Operators by FLOP per byte and FLOP/s, on logarithmic axes, under the device's roof."""
    plotted = [operator for operator in operators if operator["intensity"] and operator["ms"] > 0]
    if roof is None or not plotted:
        return None
    ridge = roof["flop_per_s"] / roof["bytes_per_s"]
    rates = [operator["flop"] / operator["ms"] * 1000 for operator in plotted]
    intensities = [operator["intensity"] for operator in plotted]
    x_scale = _Scale([*intensities, ridge * 4, ridge / 4], 60, WIDTH - 10)
    y_scale = _Scale([*rates, roof["flop_per_s"] * 1.5], TALL - 30, 10)
    line = [
        f"{x_scale.at(x):.1f},{y_scale.at(min(roof['flop_per_s'], x * roof['bytes_per_s'])):.1f}"
        for x in (x_scale.low, ridge, x_scale.high)
    ]
    longest = max(operator["ms"] for operator in plotted)
    dots = [
        Dot(
            x_scale.at(operator["intensity"]),
            y_scale.at(rate),
            3 + 9 * math.sqrt(operator["ms"] / longest),
            f"{operator['name']} {operator['module']} ({operator['phase']}): "
            f"{operator['ms']:.3f} ms, {rate / 1e9:.4g} GFLOP/s "
            f"at {operator['intensity']:.3g} FLOP/B",
        )
        for operator, rate in zip(plotted, rates, strict=True)
    ]
    left_marks = [(position, f"{value / 1e9:g}") for position, value in y_scale.marks()]
    bottom_marks = [(position, f"{value:g}") for position, value in x_scale.marks()]
    return Roofline(" ".join(line), dots, bottom_marks, left_marks)


def extended(roofs: Row | None) -> Roofs | None:
    """The step under each roof: FLOP per byte of memory, data and communication, and FLOP/s.

    None if the step has no FLOP or nothing but FLOP.
    """
    limits = {limit["name"]: limit for limit in roofs["limits"]} if roofs else {}
    computing = limits.pop("computing", None)
    if roofs is None or computing is None or not limits:
        return None
    peak, rate = computing["per_s"], computing["per_step"] / roofs["step_ms"] * 1000
    ridges = {name: peak / limit["per_s"] for name, limit in limits.items()}
    places = [limit["intensity"] for limit in limits.values()]
    x_scale = _Scale([*places, *ridges.values()], 60, WIDTH - 10)
    y_scale = _Scale([rate, rate / 10, peak * 1.5], TALL - 30, 10)
    lines = []
    for shade, (name, limit) in enumerate(limits.items()):
        low = max(x_scale.low, y_scale.low / limit["per_s"])
        ends = (low, low * limit["per_s"]), (ridges[name], peak)
        points = " ".join(f"{x_scale.at(x):.1f},{y_scale.at(y):.1f}" for x, y in ends)
        title = (
            f"{name}: {rate / 1e9:.4g} GFLOP/s at {limit['intensity']:.3g} FLOP/B;"
            f" at least {limit['ms']:.4g} ms per step"
        )
        dot = Dot(x_scale.at(limit["intensity"]), y_scale.at(rate), 6, title)
        lines.append(RoofLine(points, dot, name, shade))
    left_marks = [(position, f"{value / 1e9:g}") for position, value in y_scale.marks()]
    bottom_marks = [(position, f"{value:g}") for position, value in x_scale.marks()]
    return Roofs(y_scale.at(peak), lines, bottom_marks, left_marks)


class _Scale:
    """Positions on a logarithmic scale, with marks at powers of ten."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, self.high = min(values) / 1.5, max(values) * 1.5
        self._begin, self._end = begin, end

    def at(self, value: float) -> float:
        """The position of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self._begin + share * (self._end - self._begin)

    def marks(self) -> Iterator[tuple[float, float]]:
        """The (position, value) of each power of ten."""
        for power in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1):
            yield self.at(10.0**power), 10.0**power


def step_bars(steps: Sequence[float]) -> list[Box]:
    """A bar for each step; its height is the duration."""
    if not steps:
        return []
    width, top = WIDTH / len(steps), max(steps)
    return [
        Box(
            index * width,
            120 * (1 - ms / top),
            max(width - 1, 0.5),
            120 * ms / top,
            "",
            f"step {index + 1}: {ms:.3f} ms",
            0,
        )
        for index, ms in enumerate(steps)
    ]


def compared_bars(rows: Sequence[tuple[str, float]]) -> list[Box]:
    """A horizontal bar for each name; its length is the duration."""
    left = min(WIDTH / 2, LETTER * max((len(name) for name, _ in rows), default=0))
    longest = max((ms for _, ms in rows), default=1.0)
    return [
        Box(left, i * ROW, (WIDTH - left) * ms / longest, ROW - 4, name, f"{name}: {ms:.3f} ms", 0)
        for i, (name, ms) in enumerate(rows)
    ]
