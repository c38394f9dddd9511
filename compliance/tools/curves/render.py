"""Curves as a table, as CSV or JSON, and as a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.curves.trackers import Curve
from podium.compliance.tools.rcp.plots import plots
from podium.compliance.tools.scoring.render.rows import cell
from podium.compliance.tools.scoring.render.table import Heading, Row, table

SCHEMA = "podium.curves/1"
HEADINGS = ("quantity", "counted in", "points", "last at", "last", "common", "apart")

COMPARED = (
    "common: points with the same progress as an evaluation of the log; apart: the largest"
    " difference of their values. If a tracker counts steps, --each gives the units of the log"
    " per step."
)


class Agreement(NamedTuple):
    """Points of a tracker's curve at evaluations of the log, and the largest difference."""

    common: int
    apart: float


def agreement(curve: Curve, log: Curve) -> Agreement:
    """The difference of a tracker's values from the log's values at the same progress."""
    logged = {point.at: point.value for point in log.points}
    differences = [
        abs(point.value - logged[point.at]) for point in curve.points if point.at in logged
    ]
    return Agreement(len(differences), max(differences, default=0.0))


def text(curves: Sequence[Curve], width: int) -> str:
    """A line for each curve; with one log, also the agreement of the trackers with it."""
    logs = [curve for curve in curves if curve.source == "log"]
    compared = len(logs) == 1 and len(curves) > 1
    rows: list[Row] = []
    for path, group in groupby(curves, lambda curve: curve.path):
        rows.append(Heading(clean(path)))
        rows += [_row(curve, logs[0] if compared else None) for curve in group]
    heads = HEADINGS if compared else HEADINGS[: -len(Agreement._fields)]
    lines = table(heads, rows, width, left=(0, 1))
    if compared:
        lines += ["", *wrap(COMPARED, width)]
    return "\n".join(lines) + "\n"


def _row(curve: Curve, log: Curve | None) -> list[str]:
    last = curve.points[-1]
    row = [clean(curve.name), clean(curve.unit) or "-", str(len(curve.points))]
    row += [f"{last.at:.10g}", f"{last.value:.6g}"]
    if log is None:
        return row
    if curve is log:
        return [*row, "", ""]
    common, difference = agreement(curve, log)
    return [*row, str(common), f"{difference:.3g}" if common else "-"]


def json(curves: Sequence[Curve]) -> str:
    """All points."""
    entries = [
        curve._asdict() | {"points": [point._asdict() for point in curve.points]}
        for curve in curves
    ]
    return json_text({"schema": SCHEMA, "curves": entries})


def delimited(curves: Sequence[Curve]) -> str:
    """A row for each point, as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("path", "source", "name", "unit", "at", "time", "value"))
    for curve in curves:
        labels = [cell(part) for part in (curve.path, curve.source, curve.name, curve.unit)]
        writer.writerows(
            [*labels, position, cell(time), value] for position, time, value in curve.points
        )
    return stream.getvalue().encode("utf-8", "replace").decode()


def draw(curves: Sequence[Curve], path: Path) -> None:
    """One plot for each quantity, with the quality of the logs in each plot."""
    logs = [curve for curve in curves if curve.source == "log"]
    tracked = [curve for curve in curves if curve.source != "log"]
    names = list(dict.fromkeys(curve.name for curve in tracked)) or [""]
    with plots(path, len(names)) as panels:
        for axes, name in zip(panels, names, strict=True):
            drawn_curves = [*logs, *(curve for curve in tracked if curve.name == name)]
            for curve in drawn_curves:
                ats, values = zip(
                    *((position, value) for position, _, value in curve.points), strict=True
                )
                style = "o-" if curve.source == "log" else "-"
                axes.plot(
                    ats, values, style, label=clean(Path(curve.path).name).replace("$", r"\$")
                )
            axes.set_xlabel(
                " or ".join(dict.fromkeys(curve.unit for curve in drawn_curves if curve.unit))
            )
            axes.set_title(clean(name or logs[0].name).replace("$", r"\$"))
            axes.legend()
