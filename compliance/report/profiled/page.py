"""A profile as one HTML page: it asks no server for anything, and is read without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.compliance.report.page_policy import page_policy
from podium.compliance.report.pages.templates import asset, environment
from podium.compliance.report.profiled.pictures import icicle, roofline, timeline
from podium.compliance.version import VERSION

STYLE = ("shared/shared.css", "profile.css")
SCRIPT = ("shared/tables.js",)
MOST = 300
"""Operators on the page; the files beside it have all."""


def render(profile: Mapping[str, Any]) -> str:
    """The page of a profile, which is one as `podium profile` writes it in JSON."""
    style, script = ("".join(asset(__package__, part) for part in each) for each in (STYLE, SCRIPT))
    made = environment(__package__, {}).get_template("profile.html.j2")
    text = made.render(
        profile=profile,
        operators=profile["operators"][:MOST],
        icicle=icicle(profile["layers"]),
        roofline=roofline(profile["operators"], profile["roof"]),
        timeline=timeline(profile["steps_ms"]),
        policy=page_policy(style, script),
        style=style,
        script=script,
        version=VERSION,
    )
    return text.rstrip() + "\n"
