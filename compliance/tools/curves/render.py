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
    logged = {each.at: each.value for each in log.points}
    apart = [abs(each.value - logged[each.at]) for each in curve.points if each.at in logged]
    return Agreement(len(apart), max(apart, default=0.0))


def text(curves: Sequence[Curve], width: int) -> str:
    """A line for each curve; with one log, also the agreement of the trackers with it."""
    logs = [each for each in curves if each.source == "log"]
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
    common, apart = agreement(curve, log)
    return [*row, str(common), f"{apart:.3g}" if common else "-"]


def json(curves: Sequence[Curve]) -> str:
    """All points."""
    told = [
        each._asdict() | {"points": [point._asdict() for point in each.points]} for each in curves
    ]
    return json_text({"schema": SCHEMA, "curves": told})


def delimited(curves: Sequence[Curve]) -> str:
    """A row for each point, as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("path", "source", "name", "unit", "at", "time", "value"))
    for each in curves:
        whose = [cell(part) for part in (each.path, each.source, each.name, each.unit)]
        writer.writerows([*whose, at, cell(time), value] for at, time, value in each.points)
    return stream.getvalue().encode("utf-8", "replace").decode()


def draw(curves: Sequence[Curve], path: Path) -> None:
    """One plot for each quantity, with the quality of the logs in each plot."""
    logs = [each for each in curves if each.source == "log"]
    tracked = [each for each in curves if each.source != "log"]
    names = list(dict.fromkeys(each.name for each in tracked)) or [""]
    with plots(path, len(names)) as places:
        for axes, name in zip(places, names, strict=True):
            shown = [*logs, *(each for each in tracked if each.name == name)]
            for each in shown:
                ats, values = zip(*((at, value) for at, _, value in each.points), strict=True)
                style = "o-" if each.source == "log" else "-"
                axes.plot(ats, values, style, label=clean(Path(each.path).name).replace("$", r"\$"))
            axes.set_xlabel(" or ".join(dict.fromkeys(each.unit for each in shown if each.unit)))
            axes.set_title(clean(name or logs[0].name).replace("$", r"\$"))
            axes.legend()
