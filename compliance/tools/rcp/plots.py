"""A plot of reference points: characters on a terminal, matplotlib in a file."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.reporting.console import write_bytes
from podium.compliance.text.terminal import wrap
from podium.compliance.tools.scoring.render import numbers

if TYPE_CHECKING:
    from podium.rules.convergence.method import References

EXTRA = "plots"
HEIGHT = 14

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """The (batch size, convergence) pairs of a plot: points, limits, pruned points and runs."""

    used: Sequence[Pair]
    limits: Sequence[Pair]
    pruned: Sequence[Pair]
    runs: Sequence[Pair] = ()
    mean: Pair | None = None
    unit: str = "epochs"
    title: str = ""

    @property
    def everything(self) -> list[Pair]:
        """All pairs."""
        pairs = [*self.used, *self.limits, *self.pruned, *self.runs]
        return [*pairs, self.mean] if self.mean is not None else pairs


def curve_of(
    references: References,
    unit: str,
    title: str = "",
    *,
    runs: Sequence[Pair] = (),
    mean: Pair | None = None,
) -> Curve:
    """The curve of reference points: used points, their limits, and pruned points."""
    return Curve(
        used=[(point.batch_size, point.mean) for point in references.used],
        limits=[(point.batch_size, point.minimum) for point in references.used],
        pruned=[(point.batch_size, point.mean) for point in references.pruned],
        runs=runs,
        mean=mean,
        unit=unit,
        title=title,
    )


# --- in the terminal ------------------------------------------------------------------------------


def chart(curve: Curve, width: int = 80) -> list[str]:
    """The curve drawn with characters, at most `width` columns wide."""
    points = curve.everything
    if not points:
        return []
    low, high = _span([y for _, y in points], 0.05)
    labels = [_label(high), _label((low + high) / 2), _label(low)]
    margin = max(map(len, labels))
    grid = _Grid(points, low, high, max(20, min(width, 100) - margin - 2))
    # More important marks are drawn later, over the rest
    grid.line(curve.limits, "_")
    grid.line(curve.used, ".")
    for pairs, mark in ((curve.pruned, "x"), (curve.used, "o"), (curve.runs, "+")):
        for pair in pairs:
            grid.mark(pair, mark)
    if curve.mean is not None:
        grid.mark(curve.mean, "#")
    lines = []
    for index, row in enumerate(grid.cells):
        label = {0: labels[0], HEIGHT // 2: labels[1], HEIGHT - 1: labels[2]}.get(index, "")
        lines.append(f"{label:>{margin}} |{''.join(row)}".rstrip())
    lines.append(f"{'':>{margin}} +{'-' * grid.columns}")
    left, right = numbers.count(grid.left), numbers.count(grid.right)
    room = max(1, grid.columns - len(left) - len(right))
    lines.append(f"{'':>{margin}}  {left}{' ' * room}{right}")
    legend = f"{curve.unit} by batch size: o point, . curve, _ limit"
    legend += ", x pruned" * bool(curve.pruned) + ", + run" * bool(curve.runs)
    legend += ", # mean" * (curve.mean is not None)
    return [*lines, *wrap(legend, width, " " * (margin + 2), " " * (margin + 2))]


def _span(values: Sequence[float], room: float) -> Pair:
    low, high = min(values), max(values)
    # Equal values also need a nonzero span for the division
    margin = (high - low) * room or abs(high) * room or 1.0
    return max(0.0, low - margin) if low >= 0 else low - margin, high + margin


def _label(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 100_000 else f"{value:.0f}"


class _Grid:
    def __init__(self, pairs: Sequence[Pair], low: float, high: float, columns: int) -> None:
        sizes = [x for x, _ in pairs]
        self.left, self.right = min(sizes), max(sizes)
        # Batch sizes usually double from point to point
        self.logarithmic = self.left > 0 and self.right / self.left > 8
        self.low, self.high, self.columns = low, high, columns
        self.cells = [[" "] * columns for _ in range(HEIGHT)]

    def column(self, x: float) -> int:
        if self.right == self.left:
            return self.columns // 2
        share = (x - self.left) / (self.right - self.left)
        if self.logarithmic:
            share = math.log(x / self.left) / math.log(self.right / self.left)
        return round(share * (self.columns - 1))

    def size_at(self, column: int) -> float:
        share = column / (self.columns - 1)
        if self.logarithmic:
            return float(self.left * (self.right / self.left) ** share)
        return self.left + share * (self.right - self.left)

    def mark(self, pair: Pair, char: str) -> None:
        self._put(self.column(pair[0]), pair[1], char)

    def _put(self, column: int, y: float, char: str) -> None:
        row = round((self.high - y) / (self.high - self.low) * (HEIGHT - 1))
        if 0 <= row < HEIGHT and 0 <= column < self.columns:
            self.cells[row][column] = char

    def line(self, pairs: Sequence[Pair], char: str) -> None:
        """Draw straight lines between neighbors, as points are interpolated."""
        ordered = sorted(pairs)
        for low, high in pairwise(ordered):
            for column in range(self.column(low[0]), self.column(high[0]) + 1):
                # A column is rounded, and may represent a size just outside the pair
                size = min(max(self.size_at(column), low[0]), high[0])
                slope = (high[1] - low[1]) / (high[0] - low[0]) if high[0] != low[0] else 0.0
                self._put(column, low[1] + slope * (size - low[0]), char)


# --- in a file ------------------------------------------------------------------------------------

FILES = (".svg", ".png")


def check_plot(path: Path) -> None:
    """Refuse a plot that cannot be written, before any work."""
    if path.suffix.lower() not in FILES:
        raise UsageFault(f"--plot: expected a file ending in {' or '.join(FILES)}, got {path}")
    needed("matplotlib", "--plot", EXTRA)


def write_plot(curves: Sequence[Curve], path: Path) -> None:
    """Draw the curves below each other into an SVG or PNG file."""
    with plots(path, len(curves)) as panels:
        for axes, curve in zip(panels, curves, strict=True):
            _draw(axes, curve)


@contextmanager
def plots(path: Path, count: int) -> Iterator[Sequence[Any]]:
    """`count` axes of matplotlib, below each other, in an SVG or PNG file."""
    check_plot(path)
    # Not pyplot, which has global state and looks for a display
    figure_of = import_module("matplotlib.figure").Figure
    matplotlib = import_module("matplotlib")
    matplotlib.rcParams["svg.hashsalt"] = "podium"  # the same data give the same bytes
    figure = figure_of(figsize=(8, 4.5 * count), layout="constrained")
    yield figure.subplots(count, squeeze=False)[:, 0]
    stream = io.BytesIO()
    kind = path.suffix.lower()[1:]
    figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else None)
    write_bytes(path, stream.getvalue())


def _draw(axes: Any, curve: Curve) -> None:
    for pairs, style, label in (
        (sorted(curve.used), "o-", "reference"),
        (sorted(curve.limits), "--", "limit"),
        (curve.pruned, "x", "pruned"),
        (curve.runs, "+", "runs"),
    ):
        if pairs:
            axes.plot([x for x, _ in pairs], [y for _, y in pairs], style, label=label)
    if curve.mean is not None:
        axes.plot([curve.mean[0]], [curve.mean[1]], "s", label="mean of the runs")
    axes.set_xlabel("global batch size")
    axes.set_ylabel(f"{curve.unit} to converge")
    axes.set_title(curve.title)
    axes.legend()
