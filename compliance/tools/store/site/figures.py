"""The charts on the pages of analyses: in the colors of the page, without a library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from podium.compliance.text.chips import chip_family
from podium.compliance.tools.store.analyses.material import round_order
from podium.compliance.tools.store.analyses.table import Analysis
from podium.compliance.tools.store.site.plots import COLOURS, Axis, Line, Plot, Rule, plot
from podium.compliance.tools.store.site.row import category

Row = Mapping[str, Any]

LEAST_POINTS = 3
"""Minimum count of chip numbers in a family that is drawn; the table has families with two."""

MOST_BARS = 30


class Bar(NamedTuple):
    """One bar: its parts as (class, start, width), and the ends of its interval."""

    label: str
    parts: Sequence[tuple[str, float, float]]
    text: str
    interval: tuple[float, float] | None = None


class Bars(NamedTuple):
    """The bars of one chart; their units are the width of the longest."""

    label: str
    rows: Sequence[Bar]


class Figure(NamedTuple):
    """A chart; `part` has its filters in the form of an address, which can hide it."""

    part: str
    plot: Plot | None
    legend: Sequence[tuple[str, str]] = ()
    bars: Bars | None = None


class Part(NamedTuple):
    """The figures under one heading."""

    title: str
    figures: Sequence[Figure]


def parts(analysis: Analysis) -> list[Part]:
    """The figures of an analysis, by round (newest first) if each is of one round."""
    draw = _FIGURES.get(analysis.name)
    if draw is None:
        return []
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in analysis.rows:
        # Comparable rounds are in one chart
        name = "" if analysis.name == "rounds" else row["round"]
        groups.setdefault((row["suite"], name), []).append(row)
    order = sorted(groups, key=_newest_first)
    sections = [Part(" ".join(key).strip(), [*draw(groups[key])]) for key in order]
    return [part for part in sections if part.figures]


def _newest_first(key: tuple[str, str]) -> tuple[bool, list[int]]:
    return key[0] == "hpc", [-number for number in round_order(key[1])]


def _grouped(rows: Sequence[Row], *names: str) -> dict[tuple[str, ...], list[Row]]:
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(str(row[name] or "") for name in names), []).append(row)
    return groups


def _part(row: Row, *names: str) -> str:
    return urlencode({name: row[name] for name in names if row[name]}, errors="replace")


def _scaling(rows: Sequence[Row]) -> Iterator[Figure]:
    for (model,), of_model in sorted(_grouped(rows, "model").items()):
        families = [
            (key, family_rows)
            for key, family_rows in _grouped(of_model, "submitter", "chip", "division").items()
            if len(family_rows) >= LEAST_POINTS
        ]
        families.sort(key=lambda item: -len(item[1]))
        lines, legend = [], []
        for index, (key, family_rows) in enumerate(families):
            kind = f"c{index}" if index < COLOURS else "cx"
            name = f"{key[0]}, {chip_family(key[1])}"
            measured = [row for row in family_rows if row["efficiency"]]
            points = [(float(row["chips"]), row["efficiency"]) for row in measured]
            intervals = [
                (float(row["chips"]), row["efficiency_low"], row["efficiency_high"])
                for row in measured
                if row["efficiency_low"] is not None and row["efficiency_high"] is not None
            ]
            lines.append(Line(points, name, kind, dotted=True, intervals=intervals))
            legend.append((kind, name))
        level = [Rule(0.9, "90 %", "least", upright=False)]
        label = f"{model}, with 90 % intervals" if any(line.intervals for line in lines) else model
        chart = plot(label, Axis("chips", log=True), Axis("efficiency †"), lines, level)
        if chart is not None:
            yield Figure(_part(of_model[0], "suite", "round", "model"), chart, legend[:COLOURS])


def _rounds(rows: Sequence[Row]) -> Iterator[Figure]:
    for (model, span), of_span in sorted(_grouped(rows, "model", "span").items()):
        names = sorted({row["round"] for row in of_span}, key=round_order)
        if len(names) < 2:
            continue
        best: dict[str, dict[int, float]] = {}
        for row in of_span:
            line = best.setdefault(category(row["category"]), {})
            index = names.index(row["round"])
            line[index] = min(row["score"], line.get(index, row["score"]))
        kinds = {name: f"c{index % COLOURS}" for index, name in enumerate(sorted(best))}
        lines = [Line(sorted(best[name].items()), name, kinds[name], dotted=True) for name in kinds]
        label = f"{model}, rounds {span}"
        chart = plot(label, Axis("round", names=names), Axis("minutes †", log=True), lines)
        if chart is not None:
            legend = [(kind, name) for name, kind in kinds.items()]
            yield Figure(_part(of_span[0], "suite", "model"), chart, legend)


def _variance(rows: Sequence[Row]) -> Iterator[Figure]:
    ordered = sorted(rows, key=lambda row: -row["deviation"])[:MOST_BARS]
    most = max((row["high"] for row in ordered), default=0.0) or 1.0
    bars = [
        Bar(
            f"{row['benchmark']}{', open' if row['division'] == 'open' else ''}",
            [("c0", 0.0, row["deviation"] / most)],
            f"{row['deviation'] * 100:.3g} %",
            (row["low"] / most, row["high"] / most),
        )
        for row in ordered
    ]
    label = "Relative deviation of runs †; the lines are 90 % intervals"
    yield Figure(_part(rows[0], "suite", "round"), None, (), Bars(label, bars))


def _breakdown(rows: Sequence[Row]) -> Iterator[Figure]:
    kinds = {"staging": "c4", "evaluation": "c1", "training": "c0"}
    for (model, division), model_rows in sorted(_grouped(rows, "model", "division").items()):
        most = max((row["minutes"] for row in model_rows), default=0.0) or 1.0
        bars = []
        for row in model_rows[:MOST_BARS]:
            start, pieces = 0.0, []
            for name, kind in kinds.items():
                width = (row[name] or 0.0) / most
                pieces.append((kind, start, width))
                start += width
            bars.append(Bar(_who(row), pieces, f"{row['minutes']:.4g} min"))
        legend = [(kind, name) for name, kind in kinds.items()]
        label = f"{model}, {division or 'no division'}: minutes †"
        yield Figure(
            _part(model_rows[0], "suite", "round", "model"), None, legend, Bars(label, bars)
        )


def _power(rows: Sequence[Row]) -> Iterator[Figure]:
    # A result may have measured power without an energy; the table says why
    measured = [row for row in rows if row["kwh"] is not None]
    for (model, division), model_rows in sorted(_grouped(measured, "model", "division").items()):
        most = max(row["kwh"] for row in model_rows) or 1.0
        bars = [
            Bar(_who(row), [("c2", 0.0, row["kwh"] / most)], f"{row['kwh']:.4g} kWh")
            for row in model_rows[:MOST_BARS]
        ]
        label = f"{model}, {division or 'no division'}: energy to train, kWh †"
        yield Figure(_part(model_rows[0], "suite", "round", "model"), None, (), Bars(label, bars))


def _who(row: Row) -> str:
    return f"{row['submitter']}, {row['chips'] or '?'} chips"


_FIGURES: dict[str, Callable[[Sequence[Row]], Iterator[Figure]]] = {
    "scaling": _scaling,
    "rounds": _rounds,
    "variance": _variance,
    "breakdown": _breakdown,
    "power": _power,
}
