"""A profile as one HTML page: it asks no server for anything, and is read without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.compliance.reporting.page_policy import page_policy
from podium.compliance.reporting.pages.templates import asset, environment
from podium.compliance.reporting.profiled.pictures import icicle, roofline, step_bars
from podium.compliance.reporting.profiled.timelines import steps_in_lanes, strips
from podium.compliance.version import VERSION

STYLE = ("shared/shared.css", "profile.css")
SCRIPT = ("shared/tables.js",)
MOST = 300
"""Operators on the page; the files beside it have all."""


def render(profile: Mapping[str, Any]) -> str:
    """The page of a profile, which is one as `podium profile` writes it in JSON."""
    return page_of(
        "profile.html.j2",
        profile=profile,
        operators=profile["operators"][:MOST],
        icicle=icicle(profile["layers"]),
        roofline=roofline(profile["operators"], profile["roof"]),
        bars=step_bars(profile["steps_ms"]),
        timeline=steps_in_lanes(profile["timeline"]),
        usage=strips(profile["usage"], profile["intervals"]),
    )


def page_of(template: str, **values: Any) -> str:
    """A page with the style and the script of its own that its policy lets in."""
    style, script = ("".join(asset(__package__, part) for part in each) for each in (STYLE, SCRIPT))
    made = environment(__package__, {}).get_template(template)
    policy = page_policy(style, script)
    text = made.render(policy=policy, style=style, script=script, version=VERSION, **values)
    return text.rstrip() + "\n"
