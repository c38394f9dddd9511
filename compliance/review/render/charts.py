"""Curves of all results of a benchmark as small multiples, drawn offline as SVG by Altair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from podium.compliance.files.optional_imports import needed
from podium.compliance.logs.trace import thinned
from podium.compliance.report.terminal import clean
from podium.compliance.review.model import Curve, ResultEntry, RunEntry

COLUMNS, WIDTH, HEIGHT = 4, 190, 110
MOST_RESULTS = 24
"""Results in one picture; those beyond come in the next."""

MOST_POINTS = 20
"""Points of a curve in a picture this small."""

MOST_NAME = 34


class Picture(NamedTuple):
    """One picture: its file, what it shows in a few words, what a screen reader says, the SVG."""

    name: str
    title: str
    alternative: str
    svg: str


class _Kind(NamedTuple):
    """A quantity, and against what it is drawn."""

    name: str
    title: str
    over: str
    reference: bool


KINDS = (
    _Kind("quality", "Quality over training", "progress", reference=True),
    _Kind("quality", "Quality over time", "minutes", reference=False),
    _Kind("loss", "Loss over training", "progress", reference=False),
    _Kind("throughput", "Logged throughput over time", "minutes", reference=False),
)


def drawable() -> str:
    """Why no curves can be drawn; empty where they can."""
    from importlib.util import find_spec

    lacking = [name for name in ("altair", "vl_convert") if find_spec(name) is None]
    return f"curves need {' and '.join(lacking)}: pip install 'podium[review]'" if lacking else ""


def pictures(benchmark: str, slug: str, results: Sequence[ResultEntry]) -> Iterator[Picture]:
    """The pictures of one benchmark; none of what no run logs.

    Raises UsageFault where the libraries are not installed.
    """
    altair = needed("altair", "a review with curves", "review")
    convert = needed("vl_convert", "a review with curves", "review")
    for kind in KINDS:
        shown = [each for each in results if any(_curve(run, kind).points for run in each.runs)]
        for start in range(0, len(shown), MOST_RESULTS):
            part = shown[start : start + MOST_RESULTS]
            number = start // MOST_RESULTS + 1
            drawn = convert.vegalite_to_svg(_chart(altair, kind, part))
            name = f"{slug}-{kind.name}-{kind.over}-{number}.svg"
            told = f"{kind.title} of {benchmark}: one small chart for each of {len(part)} results, "
            told += "one line for each run. The figures are in the table of runs."
            yield Picture(name, kind.title, told, drawn)


def _curve(run: RunEntry, kind: _Kind) -> Curve:
    curve: Curve = getattr(run, kind.name)
    return curve


def _chart(altair: Any, kind: _Kind, results: Sequence[ResultEntry]) -> dict[str, Any]:
    """The specification of one picture, with its rows."""
    rows = [row for result in results for row in _rows(kind, result)]
    units = {_curve(run, kind).unit for result in results for run in result.runs} - {""}
    # One benchmark may be logged in samples and in epochs: then each chart has its own scale
    apart = kind.over == "progress" and len(units) > 1
    title = "minutes" if kind.over == "minutes" else ", ".join(sorted(units))
    base = altair.Chart()
    x = altair.X("x:Q", title=title)
    y = altair.Y("value:Q", title=kind.name, scale=altair.Scale(zero=False))
    lines = (
        base.transform_filter("isValid(datum.value)")
        .mark_line(strokeWidth=1, opacity=0.65)
        .encode(x=x, y=y, detail="run:N")
    )
    layers = [lines]
    if kind.reference and any("mean" in row for row in rows):
        known = base.transform_filter("isValid(datum.mean)")
        band = known.mark_rect(opacity=0.15, color="#e07b00").encode(x="low:Q", x2="high:Q")
        mean = known.mark_rule(strokeDash=[4, 3], color="#b35900").encode(x="mean:Q")
        layers = [band, mean, lines]
    data = altair.NamedData(name="rows")
    facet = altair.Facet("result:N", title=None, sort=None)
    chart = altair.layer(*layers, data=data).properties(width=WIDTH, height=HEIGHT)
    chart = chart.facet(facet=facet, columns=COLUMNS)
    chart = chart.resolve_scale(x="independent") if apart else chart
    specification: dict[str, Any] = chart.to_dict()
    # Given to Altair, each row would be compared with its schema: that takes longer than to draw
    specification["data"] = {"values": rows}
    return specification


def _rows(kind: _Kind, result: ResultEntry) -> Iterator[dict[str, Any]]:
    title = _title(result)
    farthest = 0.0
    for number, run in enumerate(result.runs):
        for minutes, at, value in thinned(_curve(run, kind).points, MOST_POINTS):
            x = minutes if kind.over == "minutes" else at
            if x is not None:
                farthest = max(farthest, x)
                yield {"result": title, "run": number, "x": x, "value": value}
    if kind.reference and farthest:
        yield from _reference(result, title, farthest)


def _reference(result: ResultEntry, title: str, farthest: float) -> Iterator[dict[str, Any]]:
    """Where the reference converges, and two deviations to each side."""
    mean, deviation = result.rcp.mean, result.deviation
    # Logs count in epochs what the reference has in samples, or the other way round
    if mean is None or not 1 / 3 < farthest / mean < 3:
        return
    reach = 2 * (deviation or 0.0)
    yield {"result": title, "mean": mean, "low": mean - reach, "high": mean + reach}


def _title(result: ResultEntry) -> str:
    text = clean(f"{result.submitter} · {result.system.name}")
    return text if len(text) <= MOST_NAME else f"{text[: MOST_NAME - 1]}…"
