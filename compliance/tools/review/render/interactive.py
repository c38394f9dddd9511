"""Curves to hover over and to filter: a script once for a folder, and the data of each picture.

Vega is bundled with `pages/curves.js` from the package that draws the SVG, without a network, and
interprets expressions instead of compiling them: the pages' policy lets nothing be evaluated.
"""

from __future__ import annotations

import json
from functools import cache

from podium.compliance.files.optional_imports import needed
from podium.compliance.reporting.pages.templates import asset
from podium.compliance.tools.review.render.charts import Picture

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
