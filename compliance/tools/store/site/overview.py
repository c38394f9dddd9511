"""The first page of a site: key figures, the newest rounds, and time against chips."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from podium.compliance.tools.store.analyses.material import round_order
from podium.compliance.tools.store.site.plots import LARGEST
from podium.compliance.tools.store.site.row import Row
from podium.compliance.tools.store.site.scatter import (
    MEASURES,
    Scatter,
    chip_colors,
    scatters,
    timed,
)

SIZES, NEAR = (8, 64, 512), 0.1
"""Numbers of chips at which rounds are compared, and the tolerance."""


class Newest(NamedTuple):
    """A benchmark in the newest round; `path` draws the best times of comparable rounds."""

    model: str
    best: Row | None
    small: Row | None
    results: int
    submitters: int
    path: str
    words: str


class Overview(NamedTuple):
    """The newest round of one suite."""

    suite: str
    round: str
    rows: Sequence[Newest]
    plots: Sequence[tuple[str, Scatter]]
    legend: Sequence[tuple[str, str]]


def overviews(results: Sequence[Row]) -> Iterator[Overview]:
    """The newest round of each suite, training first."""
    for suite in sorted({row["suite"] for row in results}, key=lambda name: (name == "hpc", name)):
        of_suite = [row for row in results if row["suite"] == suite]
        newest = max((row["round"] for row in of_suite), key=round_order)
        current = [row for row in of_suite if row["round"] == newest]
        colors = chip_colors(current)
        rows, plots = [], []
        for model in sorted({row["model"] for row in current}):
            model_rows = comparable([row for row in of_suite if row["model"] == model])
            rows.append(_newest(model, model_rows, newest))
            plots += [
                (model, scatter) for scatter in scatters(model_rows, colors, model, MEASURES[:1])
            ]
        legend = [(kind, family) for family, kind in colors.items()]
        yield Overview(suite, newest, rows, plots, legend)


def comparable(results: Sequence[Row]) -> list[Row]:
    """The results of one benchmark that are comparable with its newest ones."""
    newest = max(results, key=lambda row: round_order(row["round"]))
    span = (newest["comparable_from"], newest["comparable_to"])
    return [row for row in results if (row["comparable_from"], row["comparable_to"]) == span]


def fastest(results: Sequence[Row]) -> Row | None:
    """The fastest closed result, if there is one."""
    return min(
        (row for row in results if timed(row)),
        key=lambda row: (row["score"], row["result"]),
        default=None,
    )


def _newest(model: str, model_rows: Sequence[Row], newest: str) -> Newest:
    current = [row for row in model_rows if row["round"] == newest]
    best = [
        (name, row["score"])
        for name in sorted({row["round"] for row in model_rows}, key=round_order)
        if (row := fastest([row for row in model_rows if row["round"] == name])) is not None
    ]
    return Newest(
        model,
        fastest(current),
        fastest([row for row in current if row["nodes"] == 1]),
        len(current),
        len({row["submitter"] for row in current}),
        spark([score for _, score in best]),
        ", ".join(f"{name}: {score:.4g}" for name, score in best),
    )


def spark(values: Sequence[float]) -> str:
    """A path through values in a box of 100 by 20; empty for fewer than two."""
    numbers = [value for value in values if abs(value) < LARGEST]
    if len(numbers) < 2:
        return ""
    low, high = min(numbers), max(numbers)
    reach = (high - low) or 1.0
    points = (
        f"{round(100 * index / (len(numbers) - 1))} {round(18 - 16 * (value - low) / reach)}"
        for index, value in enumerate(numbers)
    )
    return f"M{'L'.join(points)}"


class AtSize(NamedTuple):
    """The best times at one number of chips over comparable rounds: (round, result, x faster)."""

    size: int
    best: Sequence[tuple[str, Row, float | None]]


def at_sizes(results: Sequence[Row]) -> list[AtSize]:
    """Rounds compared at fixed numbers of chips, without sizes that have fewer than two rounds."""
    timed_rows = [row for row in comparable(results) if timed(row)]
    sizes = []
    for size in SIZES:
        size_rows = [row for row in timed_rows if abs(row["chips"] / size - 1) <= NEAR]
        best = [*_over_rounds(size_rows, fastest)]
        if len(best) > 1:
            sizes.append(AtSize(size, best))
    return sizes


def _over_rounds(
    rows: Sequence[Row], best_of: Callable[[Sequence[Row]], Row | None]
) -> Iterator[tuple[str, Row, float | None]]:
    before: float | None = None
    for name in sorted({row["round"] for row in rows}, key=round_order):
        row = best_of([row for row in rows if row["round"] == name])
        if row is not None:
            yield name, row, before / row["score"] if before and row["score"] else None
            before = row["score"]
