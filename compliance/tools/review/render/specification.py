"""What a picture of curves looks like: a Vega-Lite specification, without its data."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, NamedTuple

from podium.compliance.files.optional_imports import needed

COLUMNS, WIDTH, HEIGHT = 3, 290, 150

RUN, FAR, REFERENCE, TARGET = "#4c78a8", "#c0231c", "#b35900", "#555555"
"""Colours of runs, of those outside the band, of the reference and of the quality to reach."""

CHOSEN = "!length(chosen) || indexof(chosen, datum.run) >= 0"
"""Whether a run is shown: those that a reader has chosen, or all."""


class CurveKind(NamedTuple):
    """A quantity, and against what it is drawn; `reference` where the reference is drawn, too."""

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
    """The specification of one picture; `live` for the page's script, which knows `chosen`.

    `titles` are the lines above each small chart, `units` what the logs count progress in,
    `others` which of `mean` (of a reference), `target` and `end` some row has. No text of a log
    becomes part of an expression. Raises UsageFault where Altair is not installed.
    """
    title = "minutes" if kind.over == "minutes" else ", ".join(sorted(units))
    whole = _whole(live)
    layers = (_layer(each, kind, title, others) for each in whole["spec"]["layer"])
    inner = whole["spec"] | {"layer": [each for each in layers if each is not None]}
    # One benchmark takes seconds here and hours there, in samples here and in epochs there
    found = whole | {"spec": inner, "resolve": {"scale": {"x": "independent"}}}
    # Expressions see this list by its name; the titles themselves are data
    known = {"name": "titles", "value": [[*lines] for lines in titles]}
    return found | {"params": [known, *found.get("params", ())]}


@cache
def _whole(live: bool) -> dict[str, Any]:
    """A picture of all that any picture shows; the tests compare it with Altair's schema.

    To build one takes as long as to draw one, so that pictures are cut from it.
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
    found: dict[str, Any] = chart.to_dict(validate=False)
    return {name: part for name, part in found.items() if name not in ("data", "$schema")}


def _layer(
    layer: dict[str, Any], kind: CurveKind, title: str, others: AbstractSet[str]
) -> dict[str, Any] | None:
    """A layer with the titles of a picture; None where the picture has no row for it."""
    encoding = layer["encoding"]
    x, y = encoding.get("x", {}), encoding.get("y", {})
    # A layer without a row would have a scale without an end
    if {"filter": "datum.end"} in layer["transform"] and "end" not in others:
        return None
    if x.get("field") != "x":
        member = "target" if y.get("field") == "target" else "mean"
        return layer if member in others else None
    # Samples come by the million: their digits would run into the next chart's
    axis = {"axis": {"format": "~s", "tickCount": 5}} if kind.over == "progress" else {}
    named = {"x": x | axis | {"title": title}, "y": y | {"title": kind.name}}
    if "tooltip" in encoding:
        titles = {"x": title or kind.over, "value": kind.name}
        tips = [each | {"title": titles.get(each["field"], "run")} for each in encoding["tooltip"]]
        named["tooltip"] = tips
    return layer | {"encoding": encoding | named}


def _curves(altair: Any, x: Any, y: Any, *, live: bool) -> list[Any]:
    """A line for each run, and a dot where it ends, where rows say so."""
    drawn = altair.Chart().transform_filter("isValid(datum.value)")
    width = altair.condition("datum.outside", altair.value(2), altair.value(1))
    if not live:
        colour = altair.condition("datum.outside", altair.value(FAR), altair.value(RUN))
        line = drawn.mark_line(opacity=0.65).encode(x=x, y=y, detail="run:N", color=colour)
        ends = drawn.transform_filter("datum.end").mark_point(size=5, filled=True, opacity=0.8)
        return [line.encode(strokeWidth=width), ends.encode(x=x, y=y, color=colour)]
    colour = altair.Color("colour:N", scale=None)
    seen = altair.condition(CHOSEN, altair.value(0.85), altair.value(0.08))
    line = drawn.mark_line().encode(
        x=x, y=y, detail="run:N", color=colour, opacity=seen, strokeWidth=width
    )
    tips = [
        altair.Tooltip("name:N"),
        altair.Tooltip("x:Q", format=",.10~g"),
        altair.Tooltip("value:Q", format=".6~g"),
    ]
    shown = drawn.transform_filter(CHOSEN)
    ends = shown.transform_filter("datum.end").mark_point(size=8, filled=True, opacity=1)
    # What is hovered over is larger than what is seen
    hover = shown.mark_point(size=90, filled=True, opacity=0).encode(x=x, y=y, tooltip=tips)
    return [line, ends.encode(x=x, y=y, color=colour), hover]


def _reference(altair: Any, *, live: bool) -> list[Any]:
    """The band of single runs, the mean, and the least mean that is accepted."""
    known = altair.Chart().transform_filter("isValid(datum.mean)")
    tips = [
        altair.Tooltip("mean:Q", title="mean of the reference", format=",.6~g"),
        altair.Tooltip("minimum:Q", title="least mean accepted", format=",.6~g"),
        altair.Tooltip("low:Q", title="band of single runs from", format=",.6~g"),
        altair.Tooltip("high:Q", title="to", format=",.6~g"),
    ]
    band = known.mark_rect(opacity=0.13, color="#e07b00").encode(x="low:Q", x2="high:Q")
    mean = known.mark_rule(strokeDash=[4, 3], color=REFERENCE).encode(x="mean:Q")
    least = known.mark_rule(strokeDash=[1, 2], color=FAR).encode(x="minimum:Q")
    return [each.encode(tooltip=tips) if live else each for each in (band, mean, least)]


def _target(altair: Any) -> Any:
    reach = altair.Chart().transform_filter("isValid(datum.target)")
    return reach.mark_rule(strokeWidth=0.7, color=TARGET, opacity=0.6).encode(y="target:Q")
