"""Curves of all results of a benchmark as small multiples: drawn offline as SVG, and as data.

The SVG is what prints and what is read without scripts; `interactive` has the page's script draw
the same specification to hover over and to filter.
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
"""Results in one picture; those beyond come in the next."""

MOST_POINTS = 20
"""Points of a curve in a picture this small."""

MOST_NAME = 44

ZOOM = 0.2
"""Quality is drawn from so far before the target, as a share of it."""

KINDS = (
    CurveKind("quality", "Quality over training", "progress", reference=True),
    CurveKind("quality", "Quality over time", "minutes", reference=False),
    CurveKind("loss", "Loss over training", "progress", reference=False),
    CurveKind("throughput", "Logged throughput over time", "minutes", reference=False),
)

Row = dict[str, Any]
"""A point of a curve, or where the reference of a result lies; `result` counts from 0."""


class Picture(NamedTuple):
    """One picture: its files' name, its title, what a screen reader says, the SVG, and its data.

    `data` is what the page's script draws it from: `specification` (Vega-Lite, without data),
    `rows`, and `runs`, the names of each result's runs.
    """

    name: str
    title: str
    alternative: str
    svg: str
    data: dict[str, Any]


def drawable() -> str:
    """Why no curves can be drawn; empty where they can."""
    from importlib.util import find_spec

    lacking = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    return f"curves need {' and '.join(lacking)}: {install_command('review')}" if lacking else ""


def pictures(benchmark: str, slug: str, results: Sequence[ResultEntry]) -> Iterator[Picture]:
    """The pictures of one benchmark; none of what no run logs.

    Raises UsageFault where the libraries are not installed.
    """
    for kind in KINDS:
        shown = [each for each in results if any(_curve(run, kind).points for run in each.runs)]
        shown.sort(key=lambda each: (each.margin is None, each.margin or 0.0))
        for start in range(0, len(shown), MOST_RESULTS):
            part = shown[start : start + MOST_RESULTS]
            name = f"{slug}-{kind.name}-{kind.over}-{start // MOST_RESULTS + 1}"
            text = f"{kind.title} of {benchmark}: one small chart for each of {len(part)} results, "
            text += "one line for each run. The figures are in the tables of results and of runs."
            yield _picture(kind, part, name, text)


def _picture(kind: CurveKind, results: Sequence[ResultEntry], name: str, text: str) -> Picture:
    convert = needed("vl_convert", "a review with curves", "review")
    rows = [row for place, result in enumerate(results) for row in _rows(kind, result, place)]
    units = {_unit(result, _curve(run, kind)) for result in results for run in result.runs} - {""}
    titles = [_titles(kind, result) for result in results]
    others = {name for name in ("mean", "target", "end") if any(name in row for row in rows)}
    still, live = (
        specification(kind, units, titles, live=live, others=others) for live in (False, True)
    )
    drawn = convert.vegalite_to_svg(still | {"data": {"values": rows}})
    runs = [[clean(_file(run)) for run in result.runs] for result in results]
    return Picture(
        name, kind.title, text, drawn, {"specification": live, "rows": rows, "runs": runs}
    )


def _curve(run: RunEntry, kind: CurveKind) -> Curve:
    curve: Curve = getattr(run, kind.name)
    return curve


def _unit(result: ResultEntry, curve: Curve) -> str:
    """What a curve counts: some logs call it epochs where the result has samples."""
    return result.unit if curve.unit and _axis(result) == 1.0 else curve.unit


def _file(run: RunEntry) -> str:
    return run.path.rpartition("/")[2]


def _titles(kind: CurveKind, result: ResultEntry) -> list[str]:
    """What stands above a small chart: whose it is and, where it is drawn, the reference."""
    text = clean(f"{result.submitter} · {result.system.name}")
    lines = [text if len(text) <= MOST_NAME else f"{text[: MOST_NAME - 1]}…"]
    rcp = result.rcp
    if kind.reference and rcp.mean is not None and rcp.minimum is not None:
        size = f"batch {rcp.batch_size:g}: " if rcp.batch_size is not None else ""
        lines.append(f"{size}ref. {brief(rcp.mean)}, min. {brief(rcp.minimum)}")
    return lines


# --- rows -----------------------------------------------------------------------------------------


def _rows(kind: CurveKind, result: ResultEntry, place: int) -> Iterator[Row]:
    for number, run in enumerate(result.runs):
        found: list[Row] = []
        for minutes, at, value in thinned(_shown(run, kind, result.target), MOST_POINTS):
            x = minutes if kind.over == "minutes" else at
            if x is not None:
                found.append({"result": place, "run": number, "x": x, "value": value})
        if found:
            # Where a run ends tells beside the reference; of one point there is no line
            if kind.reference or len(found) == 1:
                found[-1]["end"] = True
            if kind.reference and run.sigmas_below is not None and run.sigmas_below > BAND:
                found = [row | {"outside": True} for row in found]
        yield from found
    if kind.reference:
        if result.target is not None:
            yield {"result": place, "target": result.target}
        yield from _reference(result, place)


def _shown(run: RunEntry, kind: CurveKind, target: float | None) -> Sequence[CurvePoint]:
    """The points of a curve: of quality, the last part before the target, two at the least."""
    points = _curve(run, kind).points
    if kind.name != "quality" or target is None:
        return points
    reach = ZOOM * abs(target)
    first = next(
        (at for at, (*_, value) in enumerate(points) if abs(value - target) <= reach), len(points)
    )
    return points[max(0, min(first, len(points) - 2)) :]


def _reference(result: ResultEntry, place: int) -> Iterator[Row]:
    """Where the reference converges, the band of single runs, and the least mean accepted."""
    mean, minimum, share = result.rcp.mean, result.rcp.minimum, _axis(result)
    if mean is None or minimum is None or share is None:
        return
    reach = BAND * (result.deviation or 0.0)
    low, high = max(mean - reach, 0.0), mean + reach
    at = {"mean": mean, "minimum": minimum, "low": low, "high": high}
    yield {"result": place, **{name: number * share for name, number in at.items()}}


def _axis(result: ResultEntry) -> float | None:
    """What one unit of the reference is on the axis; None where no run converged."""
    return unit_share(
        [
            run.quality.points[-1][1] / run.to_converge
            for run in result.runs
            if run.to_converge and run.quality.points and run.quality.points[-1][1]
        ]
    )


SCRIPT = "interactive.js"
"""The file of the script, beside those of the pictures."""


@cache
def script() -> str:
    """The script that draws pictures; raises UsageFault where the libraries are not installed."""
    convert = needed("vl_convert", "a review with curves", "review")
    bundled: str = convert.javascript_bundle(asset(__package__, "curves.js"))
    # A page loads it as a plain script, where the bundle's hundreds of names would be everybody's
    return f"(() => {{{bundled}}})();\n"


def data_script(picture: Picture) -> str:
    """The data of one picture as a script: a page from `file://` may read no other file."""
    points = [row for row in picture.data["rows"] if "value" in row]
    data = {
        "specification": picture.data["specification"],
        "runs": picture.data["runs"],
        # Not an object each, whose names would be most of the file
        "points": [
            [row["result"], row["run"], row["x"], row["value"], *_marks(row)] for row in points
        ],
        "others": [row for row in picture.data["rows"] if "value" not in row],
    }
    # All but ASCII is escaped
    text = json.dumps(data, separators=(",", ":"))
    return f"window.podiumCharts[{json.dumps(picture.name)}] = {text};\n"


def _marks(row: dict[str, object]) -> list[int]:
    marks = [int(bool(row.get(name))) for name in ("end", "outside")]
    while marks and not marks[-1]:
        marks.pop()
    return marks
