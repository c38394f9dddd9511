"""A chart of an analysis: Altair, drawn offline as SVG, PNG or one page of HTML."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.reporting.console import write_bytes
from podium.compliance.text.terminal import clean
from podium.compliance.tools.store.analyses.table import UNOFFICIAL, Analysis
from podium.compliance.tools.store.building.records import EXTRA

SUFFIXES = (".svg", ".png", ".html")
WIDTH, HEIGHT, COLUMNS = 240, 160, 3
MOST_FACETS = 60
"""Maximum number of small charts in one picture; a filter by SQL reduces their number."""

Rows = list[dict[str, Any]]


def write_chart(analysis: Analysis, output: Path) -> None:
    """Draw an analysis into a file; the suffix of its name determines the format.

    Raises UsageFault for another suffix, an analysis without a chart or without rows.
    """
    if output.suffix not in SUFFIXES:
        raise UsageFault(f"{output} must end in {', '.join(SUFFIXES)}")
    if analysis.name not in CHARTS:
        raise UsageFault(f"{analysis.name} has no chart; expected one of {', '.join(CHARTS)}")
    if not analysis.rows:
        raise UsageFault(f"nothing to draw: {analysis.name} has no rows")
    convert = needed("vl_convert", "a chart", EXTRA)
    write_bytes(output, _drawn(convert, _specification(analysis), output.suffix))


def _specification(analysis: Analysis) -> dict[str, Any]:
    altair = needed("altair", "a chart", EXTRA)
    rows: Rows = [dict(row) for row in analysis.rows]
    chart = CHARTS[analysis.name](altair, rows)
    notes = _lines([*analysis.notes, UNOFFICIAL])
    title = altair.TitleParams(analysis.title, subtitle=notes, anchor="start", orient="bottom")
    specification: dict[str, Any] = chart.properties(title=title).to_dict()
    # Altair would compare each row with its schema, which takes longer than drawing
    specification["data"] = {"values": _plain(rows)}
    return specification


def _drawn(convert: Any, specification: dict[str, Any], suffix: str) -> bytes:
    if suffix == ".svg":
        return str(convert.vegalite_to_svg(specification)).encode()
    if suffix == ".png":
        return bytes(convert.vegalite_to_png(specification, scale=2))
    # All scripts are included: the page loads nothing from servers
    return str(convert.vegalite_to_html(specification, bundle=True)).encode()


def _lines(notes: Sequence[str]) -> list[str]:
    return [line for note in notes for line in wrap(note, 120)]


def _plain(rows: Rows) -> Rows:
    """Rows whose strings have no effect on a terminal or a page: names come from submissions."""
    return [
        {name: _safe(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    ]


def _safe(text: str) -> str:
    return clean(text).replace("<", "\u2039").replace(">", "\u203a")


def _family(rows: Rows, names: Sequence[str]) -> Rows:
    """The rows, each with the title of its small chart."""
    for row in rows:
        row["family"] = " · ".join(str(row[name]) for name in names if row.get(name))[:60]
    titles = list(dict.fromkeys(row["family"] for row in rows))[:MOST_FACETS]
    rows[:] = [row for row in rows if row["family"] in titles]
    return rows


def _facets(altair: Any, layers: Any) -> Any:
    facet = altair.Facet("family:N", title=None, sort=None)
    data = altair.NamedData(name="rows")
    base = altair.layer(*layers, data=data).properties(width=WIDTH, height=HEIGHT)
    chart = base.facet(facet=facet, columns=COLUMNS)
    return chart.resolve_scale(x="independent", y="independent")


def _scaling(altair: Any, rows: Rows) -> Any:
    _family(rows, ("suite", "round", "model", "submitter", "chip"))
    # One row, and one line, for each factor
    factors = ("efficiency", "convergence", "throughput", "overhead")
    rows[:] = [
        {
            "family": row["family"],
            "chips": row["chips"],
            "factor": factor,
            "value": row[factor],
            "low": row[f"{factor}_low"],
            "high": row[f"{factor}_high"],
        }
        for row in rows
        for factor in factors
        if row[factor] is not None
    ]
    x = altair.X("chips:Q", scale=altair.Scale(type="log", base=2), title="chips")
    base = altair.Chart().encode(x=x, color=altair.Color("factor:N", sort=factors))
    value = altair.Y("value:Q", title="relative to the fewest chips")
    ends = base.transform_filter("isValid(datum.low)").mark_rule(opacity=0.5)
    layers = [
        base.mark_line(point=True).encode(y=value),
        ends.encode(y="low:Q", y2="high:Q"),
    ]
    return _facets(altair, layers)


def _variance(altair: Any, rows: Rows) -> Any:
    _family(rows, ("suite", "round"))
    for row in rows:
        row["who"] = f"{row['benchmark']} {row['division'] if row['division'] == 'open' else ''}"
    base = altair.Chart().encode(y=altair.Y("who:N", title=None))
    x = altair.X("deviation:Q", title="deviation of runs over their mean")
    layers = [
        base.mark_rule().encode(x="low:Q", x2="high:Q"),
        base.mark_point(filled=True).encode(x=x),
    ]
    return _facets(altair, layers)


def _breakdown(altair: Any, rows: Rows) -> Any:
    _family(rows, ("suite", "round", "model", "division"))
    rows[:] = [
        {"family": row["family"], "who": _who(row), "part": part, "minutes": row[part]}
        for row in rows
        for part in ("staging", "evaluation", "training")
    ]
    bars = altair.Chart().mark_bar()
    x, y = altair.X("minutes:Q"), altair.Y("who:N", title=None, sort=None)
    return _facets(altair, [bars.encode(x=x, y=y, color="part:N")])


def _rounds(altair: Any, rows: Rows) -> Any:
    _family(rows, ("suite", "model", "span"))
    for row in rows:
        row["who"] = f"{row['chip']}, {row['category']}"
    minutes = altair.Y("score:Q", scale=altair.Scale(type="log"), title="minutes")
    line = altair.Chart().mark_line(point=True)
    x = altair.X("round:O", title="round")
    color = altair.Color("who:N", legend=None)
    return _facets(altair, [line.encode(x=x, y=minutes, color=color, tooltip=["who:N", "score:Q"])])


def _bars(column: str, title: str) -> Callable[[Any, Rows], Any]:
    def draw(altair: Any, rows: Rows) -> Any:
        _family(rows, ("suite", "round", "model", "division"))
        for row in rows:
            row["who"] = _who(row)
        x = altair.X(f"{column}:Q", title=title)
        y = altair.Y("who:N", title=None, sort="x")
        return _facets(altair, [altair.Chart().mark_bar().encode(x=x, y=y)])

    return draw


def _kernels(altair: Any, rows: Rows) -> Any:
    """TFLOP/s over the FLOP of a kernel, without all-reduces, which have GB/s instead."""
    rows[:] = [row for row in rows if row["tflops"]]
    _family(rows, ("part",))
    log = altair.Scale(type="log")
    x = altair.X("flop:Q", scale=log, title="FLOP")
    y = altair.Y("tflops:Q", scale=log, title="TFLOP/s")
    points = altair.Chart().mark_point(filled=True, size=12, opacity=0.7)
    color = altair.Color("device:N", sort=None)
    return _facets(altair, [points.encode(x=x, y=y, color=color)])


def _who(row: dict[str, Any]) -> str:
    return f"{row['submitter']}, {row['system']}, {row['chips'] or '?'} chips"[-60:]


CHARTS: dict[str, Callable[[Any, Rows], Any]] = {
    "scaling": _scaling,
    "variance": _variance,
    "breakdown": _breakdown,
    "rounds": _rounds,
    "power": _bars("kwh", "kWh"),
    "cost": _bars("cost", "US dollars"),
    "kernels": _kernels,
}
"""The function that draws each analysis."""
