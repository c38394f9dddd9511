"""The charts of a result: what its runs reached, and where the reference stands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from podium.compliance.judging.logs.trace import thinned
from podium.compliance.judging.results.axis import unit_share
from podium.compliance.text.terminal import clean
from podium.compliance.tools.store.site.plots import COLOURS, Axis, Line, Plot, Rule, plot
from podium.compliance.tools.store.site.row import Row

MOST_POINTS, LEAST_POINTS, ALL_POINTS = 40, 10, 250
"""Of one curve: as many as all curves of a chart have room for, within these bounds."""

MOST_METRICS = 3
LONGEST_SEEDS = 60


def colour(number: int) -> str:
    """The class of a run's colour, by its place among the runs."""
    return f"c{number % COLOURS}"


def name_of(path: str) -> str:
    """A log's name, without its folder."""
    return clean(path.rpartition("/")[2])


def curves(result: Row, runs: Sequence[Row], evaluations: Sequence[Row]) -> Iterator[Plot]:
    """Quality over training for each metric, with the reference; over minutes without positions."""
    number = {run["file"]: at for at, run in enumerate(runs)}
    by_metric: dict[str, dict[str, list[Row]]] = {}
    for row in evaluations:
        if row["file"] in number and row["value"] is not None:
            of_metric = by_metric.setdefault(row["metric"] or "quality", {})
            of_metric.setdefault(row["file"], []).append(row)
    for metric, logs in [*sorted(by_metric.items())][:MOST_METRICS]:
        found = [row for rows in logs.values() for row in rows]
        over = "position" if all(row["position"] is not None for row in found) else "minutes"
        unit = found[0]["unit"] or "progress" if over == "position" else "minutes"
        most = max(LEAST_POINTS, min(MOST_POINTS, ALL_POINTS // max(1, len(logs))))
        lines = []
        for file, rows in logs.items():
            points = [(row[over], row["value"]) for row in rows if row[over] is not None]
            kind = colour(number[file])
            lines.append(Line(thinned(points, most), name_of(file), kind))
        rules = [*_reference(result, runs, logs)] if over == "position" else []
        label = f"{metric} over {unit}, a line for each run"
        made = plot(label, Axis(unit), Axis(metric), lines, rules)
        if made is not None:
            yield made


def _reference(result: Row, runs: Sequence[Row], logs: dict[str, list[Row]]) -> Iterator[Rule]:
    """The mean of the reference and the least mean that passes, on the axis of the curves."""
    ends = [
        logs[run["file"]][-1]["position"] / run["to_converge"]
        for run in runs
        if run["converged"] and run["to_converge"] and run["file"] in logs
    ]
    share = unit_share([end for end in ends if end > 0])
    for column, kind, what in (
        ("rcp_mean", "mean", "the reference's mean"),
        ("rcp_minimum", "least", "the least mean that passes"),
    ):
        if share is not None and result[column] is not None:
            yield Rule(result[column] * share, f"{what}: {result[column]:.5g}", kind)


def convergence(result: Row, points: Sequence[Row]) -> Plot | None:
    """How much training is needed by batch size: the reference's points, and the result."""
    at, taken = result["batch_size"], result["to_converge"]
    if not at or not taken or not points:
        return None
    reference = sorted((row["batch_size"], row["mean"]) for row in points if row["mean"])
    share = _same_unit(result, reference)
    if share is None:
        return None
    title = f"{result['to_converge']:.6g} {result['unit']} at batch {at:g}: this result"
    lines = [
        Line([(size, mean * share) for size, mean in reference], "", "ref", dotted=True),
        Line([(at, taken)], title, "own"),
    ]
    rules = []
    if result["rcp_minimum"] is not None:
        text = f"the least mean that passes at this batch size: {result['rcp_minimum']:.5g}"
        rules.append(Rule(result["rcp_minimum"], text, "least", upright=False))
    label = "Training that the reference needs by batch size; this result in red"
    upward = Axis(f"{result['unit']} to converge")
    return plot(label, Axis("global batch size", log=True), upward, lines, rules)


def _same_unit(result: Row, reference: Sequence[tuple[float, float]]) -> float | None:
    """1, or what the reference's unit is in the result's, where both name the same point."""
    mean = result["rcp_mean"]
    known = [each for size, each in reference if size == result["batch_size"]]
    if mean and known and result["rcp_case"] == "found":
        share = mean / known[0]
        # Of one batch size there may be several points, and the mean leaves runs out
        return 1.0 if 0.5 < share < 2 else share
    low, high = min(each for _, each in reference), max(each for _, each in reference)
    return 1.0 if low / 20 < result["to_converge"] < high * 20 else None


def seeds_of(run: Row) -> str:
    """The seeds of a run as people read them; they are stored as a list of JSON."""
    text = str(run["seed"] or "").replace('"', "").strip("[]")
    return text if len(text) <= LONGEST_SEEDS else f"{text[:LONGEST_SEEDS]}…"


SAME = ("converged", "verdict", "official_verdict")
"""Columns of runs that are told once where they are alike."""


def alike(runs: Sequence[Row]) -> dict[str, Any]:
    """What all runs of a result say alike, of the columns that seldom differ."""
    if not runs:
        return {}
    return {name: runs[0][name] for name in SAME if len({run[name] for run in runs}) == 1}


def margin(result: Row) -> float | None:
    """By what share a result needs more training than the least that passes; derived."""
    least, taken = result["rcp_minimum"], result["to_converge"]
    if not least or taken is None or not math.isfinite(taken):
        return None
    return float(taken) / float(least) - 1
