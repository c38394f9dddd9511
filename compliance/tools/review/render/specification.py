"""The design of a picture of curves: a Vega-Lite specification without data."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple

from podium.compliance.files.optional_imports import needed

COLUMNS, WIDTH, HEIGHT = 3, 290, 150

RUN, FAR, REFERENCE, TARGET = "#4c78a8", "#c0231c", "#b35900", "#555555"
"""Colors of runs, of runs outside the band, of the reference and of the target quality."""

CHOSEN = "!length(chosen) || indexof(chosen, datum.run) >= 0"
"""Whether a run is shown: the runs that a reader has selected, or all."""


class CurveKind(NamedTuple):
    """A quantity and its horizontal axis; with `reference`, the reference is drawn, too."""

    name: str
    title: str
    over: str
    reference: bool


def specification(
    kind: CurveKind,
    units: AbstractSet[str],
    titles: Sequence[Sequence[str]],
    *,
    live: bool,
    others: AbstractSet[str],
) -> dict[str, Any]:
    """The specification of one picture; `live` is for the script of the page, which sets `chosen`.

    `titles` are the lines above each small chart, `units` are the units of progress in the logs,
    `others` are those of `mean` (of a reference), `target` and `end` that occur in the rows. Text
    from logs is never part of an expression. Raises UsageFault if Altair is not installed.
    """
    title = "minutes" if kind.over == "minutes" else ", ".join(sorted(units))
    template = _whole(live)
    layers = (_layer(layer, kind, title, others) for layer in template["spec"]["layer"])
    inner = template["spec"] | {"layer": [layer for layer in layers if layer is not None]}
    # The results of one benchmark differ in scale (seconds, hours) and unit (samples, epochs)
    picture = template | {"spec": inner, "resolve": {"scale": {"x": "independent"}}}
    # Expressions refer to this list by name; the titles themselves are data
    parameter = {"name": "titles", "value": [[*lines] for lines in titles]}
    return picture | {"params": [parameter, *picture.get("params", ())]}


@cache
def _whole(live: bool) -> dict[str, Any]:
    """A picture with everything that pictures can show; tests compare it with Altair's schema.

    Building a picture takes as long as drawing one, so the others are derived from this one.
    """
    altair = needed("altair", "a review with curves", "review")
    x = altair.X("x:Q", title="")
    y = altair.Y("value:Q", title="", scale=altair.Scale(zero=False))
    layers = [*_reference(altair, live=live), _target(altair), *_curves(altair, x, y, live=live)]
    header = altair.Header(
        labelExpr="titles[datum.value]", labelFontSize=9, labelLineHeight=11, labelLimit=WIDTH + 20
    )
    facet = altair.Facet("result:O", title=None, header=header)
    chart = altair.layer(*layers, data=altair.NamedData(name="rows"))
    chart = chart.properties(width=WIDTH, height=HEIGHT).facet(facet=facet, columns=COLUMNS)
    chart = chart.add_params(altair.param(name="chosen", value=[])) if live else chart
    specification_data: dict[str, Any] = chart.to_dict(validate=False)
    return {
        name: part for name, part in specification_data.items() if name not in ("data", "$schema")
    }


def _layer(
    layer: dict[str, Any], kind: CurveKind, title: str, others: AbstractSet[str]
) -> dict[str, Any] | None:
    """A layer with the titles of a picture; None if the picture has no rows for it."""
    encoding = layer["encoding"]
    x, y = encoding.get("x", {}), encoding.get("y", {})
    # A layer without rows would have an infinite scale
    if {"filter": "datum.end"} in layer["transform"] and "end" not in others:
        return None
    if x.get("field") != "x":
        member = "target" if y.get("field") == "target" else "mean"
        return layer if member in others else None
    # Samples are counted in millions: their digits would overlap those of the next chart
    axis = {"axis": {"format": "~s", "tickCount": 5}} if kind.over == "progress" else {}
    channels = {"x": x | axis | {"title": title}, "y": y | {"title": kind.name}}
    if "tooltip" in encoding:
        titles = {"x": title or kind.over, "value": kind.name}
        tips = [tip | {"title": titles.get(tip["field"], "run")} for tip in encoding["tooltip"]]
        channels["tooltip"] = tips
    return layer | {"encoding": encoding | channels}


def _curves(altair: Any, x: Any, y: Any, *, live: bool) -> list[Any]:
    """A line for each run, and a dot at its end if a row has one."""
    base = altair.Chart().transform_filter("isValid(datum.value)")
    width = altair.condition("datum.outside", altair.value(2), altair.value(1))
    if not live:
        colour = altair.condition("datum.outside", altair.value(FAR), altair.value(RUN))
        line = base.mark_line(opacity=0.65).encode(x=x, y=y, detail="run:N", color=colour)
        ends = base.transform_filter("datum.end").mark_point(size=5, filled=True, opacity=0.8)
        return [line.encode(strokeWidth=width), ends.encode(x=x, y=y, color=colour)]
    colour = altair.Color("colour:N", scale=None)
    opacity = altair.condition(CHOSEN, altair.value(0.85), altair.value(0.08))
    line = base.mark_line().encode(
        x=x, y=y, detail="run:N", color=colour, opacity=opacity, strokeWidth=width
    )
    tips = [
        altair.Tooltip("name:N"),
        altair.Tooltip("x:Q", format=",.10~g"),
        altair.Tooltip("value:Q", format=".6~g"),
    ]
    chosen_runs = base.transform_filter(CHOSEN)
    ends = chosen_runs.transform_filter("datum.end").mark_point(size=8, filled=True, opacity=1)
    # The area for the pointer is larger than the visible mark
    hover = chosen_runs.mark_point(size=90, filled=True, opacity=0).encode(x=x, y=y, tooltip=tips)
    return [line, ends.encode(x=x, y=y, color=colour), hover]


def _reference(altair: Any, *, live: bool) -> list[Any]:
    """The band of single runs, the mean, and the lowest accepted mean."""
    base = altair.Chart().transform_filter("isValid(datum.mean)")
    tips = [
        altair.Tooltip("mean:Q", title="mean of the reference", format=",.6~g"),
        altair.Tooltip("minimum:Q", title="lowest accepted mean", format=",.6~g"),
        altair.Tooltip("low:Q", title="band of single runs from", format=",.6~g"),
        altair.Tooltip("high:Q", title="to", format=",.6~g"),
    ]
    band = base.mark_rect(opacity=0.13, color="#e07b00").encode(x="low:Q", x2="high:Q")
    mean = base.mark_rule(strokeDash=[4, 3], color=REFERENCE).encode(x="mean:Q")
    least = base.mark_rule(strokeDash=[1, 2], color=FAR).encode(x="minimum:Q")
    return [layer.encode(tooltip=tips) if live else layer for layer in (band, mean, least)]


def _target(altair: Any) -> Any:
    reach = altair.Chart().transform_filter("isValid(datum.target)")
    return reach.mark_rule(strokeWidth=0.7, color=TARGET, opacity=0.6).encode(y="target:Q")
