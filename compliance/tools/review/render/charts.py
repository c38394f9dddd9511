"""Curves of all results of a benchmark as small multiples: drawn offline as SVG, and as data.

The SVG is for printing and for readers without scripts. The script of the page draws the same
specification with tooltips and filters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from podium.compliance.files.optional_imports import install_command, needed
from podium.compliance.judging.logs.trace import thinned
from podium.compliance.judging.results.axis import unit_share
from podium.compliance.reporting.pages.templates import asset, brief
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.anomalies.peers import BAND
from podium.compliance.tools.review.model import Curve, CurvePoint, ResultEntry, RunEntry
from podium.compliance.tools.review.render.specification import CurveKind, specification

MOST_RESULTS = 24
"""Maximum number of results in one picture; the rest are in the next one."""

MOST_POINTS = 20
"""Maximum number of points of a curve in a picture of this size."""

MOST_NAME = 44

ZOOM = 0.2
"""Quality is drawn from this far before the target, as a share of the target."""

KINDS = (
    CurveKind("quality", "Quality over training", "progress", reference=True),
    CurveKind("quality", "Quality over time", "minutes", reference=False),
    CurveKind("loss", "Loss over training", "progress", reference=False),
    CurveKind("throughput", "Logged throughput over time", "minutes", reference=False),
)

Row = dict[str, Any]
"""A point of a curve, or the position of a result's reference; `result` counts from 0."""


class Picture(NamedTuple):
    """One picture: the name of its files, its title, its alternative text, the SVG and its data.

    The script of the page draws it from `data`: `specification` (Vega-Lite, without data), `rows`,
    and `runs`, the names of each result's runs.
    """

    name: str
    title: str
    alternative: str
    svg: str
    data: dict[str, Any]


def drawable() -> str:
    """The reason why curves cannot be drawn; empty if they can."""
    from importlib.util import find_spec

    lacking = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    return f"curves need {' and '.join(lacking)}: {install_command('review')}" if lacking else ""


def pictures(benchmark: str, slug: str, results: Sequence[ResultEntry]) -> Iterator[Picture]:
    """The pictures of one benchmark, without quantities that no run logs.

    Raises UsageFault if the libraries are not installed.
    """
    for kind in KINDS:
        drawn_results = [
            result for result in results if any(_curve(run, kind).points for run in result.runs)
        ]
        drawn_results.sort(key=lambda result: (result.margin is None, result.margin or 0.0))
        for start in range(0, len(drawn_results), MOST_RESULTS):
            part = drawn_results[start : start + MOST_RESULTS]
            name = f"{slug}-{kind.name}-{kind.over}-{start // MOST_RESULTS + 1}"
            text = f"{kind.title} of {benchmark}: one small chart for each of {len(part)} results, "
            text += "one line for each run. The tables of results and runs have the numbers."
            yield _picture(kind, part, name, text)


def _picture(kind: CurveKind, results: Sequence[ResultEntry], name: str, text: str) -> Picture:
    convert = needed("vl_convert", "a review with curves", "review")
    rows = [row for index, result in enumerate(results) for row in _rows(kind, result, index)]
    units = {_unit(result, _curve(run, kind)) for result in results for run in result.runs} - {""}
    titles = [_titles(kind, result) for result in results]
    others = {name for name in ("mean", "target", "end") if any(name in row for row in rows)}
    still, live = (
        specification(kind, units, titles, live=live, others=others) for live in (False, True)
    )
    picture = convert.vegalite_to_svg(still | {"data": {"values": rows}})
    runs = [[clean(_file(run)) for run in result.runs] for result in results]
    return Picture(
        name, kind.title, text, picture, {"specification": live, "rows": rows, "runs": runs}
    )


def _curve(run: RunEntry, kind: CurveKind) -> Curve:
    curve: Curve = getattr(run, kind.name)
    return curve


def _unit(result: ResultEntry, curve: Curve) -> str:
    """The unit of a curve: some logs count epochs although the result counts samples."""
    return result.unit if curve.unit and _axis(result) == 1.0 else curve.unit


def _file(run: RunEntry) -> str:
    return run.path.rpartition("/")[2]


def _titles(kind: CurveKind, result: ResultEntry) -> list[str]:
    """The lines above a small chart: the result and, if it is drawn, the reference."""
    text = clean(f"{result.submitter} · {result.system.name}")
    lines = [text if len(text) <= MOST_NAME else f"{text[: MOST_NAME - 1]}…"]
    rcp = result.rcp
    if kind.reference and rcp.mean is not None and rcp.minimum is not None:
        size = f"batch {rcp.batch_size:g}: " if rcp.batch_size is not None else ""
        lines.append(f"{size}ref. {brief(rcp.mean)}, min. {brief(rcp.minimum)}")
    return lines


# --- rows -----------------------------------------------------------------------------------------


def _rows(kind: CurveKind, result: ResultEntry, index: int) -> Iterator[Row]:
    for number, run in enumerate(result.runs):
        rows: list[Row] = []
        for minutes, position, value in thinned(_shown(run, kind, result.target), MOST_POINTS):
            x = minutes if kind.over == "minutes" else position
            if x is not None:
                rows.append({"result": index, "run": number, "x": x, "value": value})
        if rows:
            # The end of a run is compared with the reference; a single point has no line
            if kind.reference or len(rows) == 1:
                rows[-1]["end"] = True
            if kind.reference and run.sigmas_below is not None and run.sigmas_below > BAND:
                rows = [row | {"outside": True} for row in rows]
        yield from rows
    if kind.reference:
        if result.target is not None:
            yield {"result": index, "target": result.target}
        yield from _reference(result, index)


def _shown(run: RunEntry, kind: CurveKind, target: float | None) -> Sequence[CurvePoint]:
    """The points of a curve: for quality, the last part before the target, at least two."""
    points = _curve(run, kind).points
    if kind.name != "quality" or target is None:
        return points
    reach = ZOOM * abs(target)
    first = next(
        (index for index, (*_, value) in enumerate(points) if abs(value - target) <= reach),
        len(points),
    )
    return points[max(0, min(first, len(points) - 2)) :]


def _reference(result: ResultEntry, index: int) -> Iterator[Row]:
    """The mean of the reference, the band of single runs, and the lowest accepted mean."""
    mean, minimum, share = result.rcp.mean, result.rcp.minimum, _axis(result)
    if mean is None or minimum is None or share is None:
        return
    reach = BAND * (result.deviation or 0.0)
    low, high = max(mean - reach, 0.0), mean + reach
    levels = {"mean": mean, "minimum": minimum, "low": low, "high": high}
    yield {"result": index, **{name: number * share for name, number in levels.items()}}


def _axis(result: ResultEntry) -> float | None:
    """One unit of the reference on the axis; None if no run converged."""
    return unit_share(
        [
            run.quality.points[-1][1] / run.to_converge
            for run in result.runs
            if run.to_converge and run.quality.points and run.quality.points[-1][1]
        ]
    )


SCRIPT = "interactive.js"
"""The file name of the script, in the folder of the pictures."""


@cache
def script() -> str:
    """The script that draws pictures; raises UsageFault if the libraries are not installed."""
    convert = needed("vl_convert", "a review with curves", "review")
    bundled: str = convert.javascript_bundle(asset(__package__, "curves.js"))
    # A page loads it as a plain script, in which the bundle's hundreds of names would be global
    return f"(() => {{{bundled}}})();\n"


def data_script(picture: Picture) -> str:
    """The data of one picture as a script: a page from `file://` cannot read other files."""
    points = [row for row in picture.data["rows"] if "value" in row]
    data = {
        "specification": picture.data["specification"],
        "runs": picture.data["runs"],
        # Arrays instead of objects, whose member names would be most of the file
        "points": [
            [row["result"], row["run"], row["x"], row["value"], *_marks(row)] for row in points
        ],
        "others": [row for row in picture.data["rows"] if "value" not in row],
    }
    # All characters except ASCII are escaped
    text = json.dumps(data, separators=(",", ":"))
    return f"window.podiumCharts[{json.dumps(picture.name)}] = {text};\n"


def _marks(row: dict[str, object]) -> list[int]:
    marks = [int(bool(row.get(name))) for name in ("end", "outside")]
    while marks and not marks[-1]:
        marks.pop()
    return marks
