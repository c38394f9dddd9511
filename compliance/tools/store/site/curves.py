"""The charts of a result: the quality of its runs, and the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import stdev
from typing import Any

from podium.compliance.judging.logs.trace import thinned
from podium.compliance.judging.results.axis import unit_share
from podium.compliance.text.terminal import clean
from podium.compliance.tools.store.site.plots import (
    COLOURS,
    Axis,
    Band,
    Line,
    Plot,
    Rule,
    plot,
)
from podium.compliance.tools.store.site.row import Row, numbers

MOST_POINTS, LEAST_POINTS, ALL_POINTS = 40, 10, 250
"""Bounds of the points of one curve: all curves of a chart share its room."""

MOST_METRICS = 3

UNITS = {
    "samples_count": "samples",
    "epoch_num": "epochs",
    "step_num": "steps",
    "progress": "training",
}
"""Names of units on axes; other units are shown as logged."""
LONGEST_SEEDS = 60


def colour(number: int) -> str:
    """The class of a run's color, by its place among the runs."""
    return f"c{number % COLOURS}"


def name_of(path: str) -> str:
    """The file name of a log, without its folder."""
    return clean(path.rpartition("/")[2])


def curves(
    result: Row, runs: Sequence[Row], evaluations: Sequence[Row], points: Sequence[Row] = ()
) -> Iterator[Plot]:
    """Quality over training for each metric, with the reference; else over minutes."""
    number = {run["file"]: index for index, run in enumerate(runs)}
    by_metric: dict[str, dict[str, list[Row]]] = {}
    for row in evaluations:
        if row["file"] in number and row["value"] is not None:
            of_metric = by_metric.setdefault(row["metric"] or "quality", {})
            of_metric.setdefault(row["file"], []).append(row)
    for metric, logs in [*sorted(by_metric.items())][:MOST_METRICS]:
        metric_rows = [row for rows in logs.values() for row in rows]
        x_column = (
            "position" if all(row["position"] is not None for row in metric_rows) else "minutes"
        )
        unit = metric_rows[0]["unit"] or "progress" if x_column == "position" else "minutes"
        most = max(LEAST_POINTS, min(MOST_POINTS, ALL_POINTS // max(1, len(logs))))
        lines = []
        for file, rows in logs.items():
            found_in = [(row[x_column], row["value"]) for row in rows if row[x_column] is not None]
            lines.append(Line(thinned(found_in, most), name_of(file), colour(number[file])))
        share = _share(runs, logs) if x_column == "position" else None
        if share is not None:
            # Logs may count epochs although the result and its reference count samples
            unit = result["unit"] or unit
            lines = [
                line._replace(points=[(position / share, value) for position, value in line.points])
                for line in lines
            ]
        rules, bands = _reference(result, points) if share is not None else ((), ())
        label = f"{metric} over {UNITS.get(unit, unit)}, a line for each run"
        chart = plot(label, Axis(UNITS.get(unit, unit)), Axis(metric), lines, rules, bands)
        if chart is not None:
            yield chart


def _share(runs: Sequence[Row], logs: dict[str, list[Row]]) -> float | None:
    """One unit of the result in the unit of the log; None if no run converged."""
    ends = [
        logs[run["file"]][-1]["position"] / run["to_converge"]
        for run in runs
        if run["converged"] and run["to_converge"] and run["file"] in logs
    ]
    return unit_share([end for end in ends if end > 0])


def _reference(result: Row, points: Sequence[Row]) -> tuple[Sequence[Rule], Sequence[Band]]:
    """The mean of the reference, the lowest mean that passes, and the band of its runs."""
    rules = [
        Rule(result[column], f"{label}: {result[column]:.5g}", kind)
        for column, kind, label in (
            ("rcp_mean", "mean", "mean of the reference"),
            ("rcp_minimum", "least", "lowest mean that passes"),
        )
        if result[column] is not None
    ]
    deviation = _deviation(result, points)
    mean = result["rcp_mean"]
    if deviation is None or mean is None:
        return rules, ()
    low, high = max(mean - 2 * deviation, 0.0), mean + 2 * deviation
    return rules, [Band(low, high, f"two deviations of the reference: {low:.5g} to {high:.5g}")]


def _deviation(result: Row, points: Sequence[Row]) -> float | None:
    """The deviation of the reference's runs at the result's batch size, in the result's unit."""
    mean = result["rcp_mean"]
    for row in points:
        if result["rcp_case"] != "found" or row["batch_size"] != result["batch_size"]:
            continue
        runs = [value for value in numbers(row["to_converge"]) if value > 0]
        if len(runs) > 1 and row["mean"] and mean:
            return float(stdev(runs) * mean / row["mean"])
    return None


def convergence(result: Row, points: Sequence[Row]) -> Plot | None:
    """The training needed by batch size: the points of the reference, and the result."""
    batch_size, to_converge = result["batch_size"], result["to_converge"]
    if not batch_size or not to_converge or not points:
        return None
    reference = sorted((row["batch_size"], row["mean"]) for row in points if row["mean"])
    share = _same_unit(result, reference)
    if share is None:
        return None
    title = f"{result['to_converge']:.6g} {result['unit']} at batch {batch_size:g}: this result"
    lines = [
        Line([(size, mean * share) for size, mean in reference], "", "ref", dotted=True),
        Line([(batch_size, to_converge)], title, "own"),
    ]
    rules = []
    if result["rcp_minimum"] is not None:
        text = f"lowest mean that passes at this batch size: {result['rcp_minimum']:.5g}"
        rules.append(Rule(result["rcp_minimum"], text, "least", upright=False))
    label = "Training that the reference needs by batch size; this result in red"
    upward = Axis(f"{result['unit']} to converge")
    return plot(label, Axis("global batch size", log=True), upward, lines, rules)


def _same_unit(result: Row, reference: Sequence[tuple[float, float]]) -> float | None:
    """The reference's unit in the result's, if both name the same point, else 1."""
    mean = result["rcp_mean"]
    means = [value for size, value in reference if size == result["batch_size"]]
    if mean and means and result["rcp_case"] == "found":
        share = mean / means[0]
        # There may be several points of one batch size, and the mean omits runs
        return 1.0 if 0.5 < share < 2 else share
    low, high = min(value for _, value in reference), max(value for _, value in reference)
    return 1.0 if low / 20 < result["to_converge"] < high * 20 else None


def seeds_of(run: Row) -> str:
    """The seeds of a run in readable form; the store has a JSON list."""
    text = str(run["seed"] or "").replace('"', "").strip("[]")
    return text if len(text) <= LONGEST_SEEDS else f"{text[:LONGEST_SEEDS]}…"


SAME = ("converged", "verdict", "official_verdict")
"""Columns of runs that are shown once if all runs have the same value."""


def alike(runs: Sequence[Row]) -> dict[str, Any]:
    """The values that all runs of a result share, for columns that rarely differ."""
    if not runs:
        return {}
    return {name: runs[0][name] for name in SAME if len({run[name] for run in runs}) == 1}


def margin(result: Row) -> float | None:
    """The share by which a result needs more training than the lowest mean that passes; derived."""
    least, to_converge = result["rcp_minimum"], result["to_converge"]
    if not least or to_converge is None or not math.isfinite(to_converge):
        return None
    return float(to_converge) / float(least) - 1
