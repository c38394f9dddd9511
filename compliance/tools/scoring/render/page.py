"""Scores as one self-contained HTML page, with inline style and script and without requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.compliance.reporting.pages.templates import (
    SCRIPT,
    STYLE,
    environment,
    joined,
    page_policy,
)
from podium.compliance.tools.scoring.render.markdown import WORDS, sections
from podium.compliance.tools.scoring.render.text import factors_used, summary

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores


def to_html(scores: Scores) -> str:
    """The page."""
    style, script = joined(__package__, STYLE), joined(__package__, SCRIPT)
    template = environment(__package__, {}).get_template("scores.html.j2")
    page = template.render(
        title=f"Scores: {scores.rules.usage} {scores.rules.round}",
        summary=f"{factors_used(scores)} {summary(scores)}".strip(),
        sections=[(name, heads, [*rows]) for name, heads, rows in sections(scores)],
        words=WORDS,
        findings=scores.findings,
        tool=f"{scores.tool.name} {scores.tool.version}",
        policy=page_policy(style, script),
        style=style,
        script=script,
    )
    return page.rstrip() + "\n"
