"""Print a report and the scores of the same logs as one text or one JSON object."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from podium.compliance.reporting.console import Printing, colored, send, width

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome
    from podium.compliance.reporting.grouping import OneMessage
    from podium.compliance.tools.scoring.report import Scores

SCORED = ("text", "json")
"""Formats in which scores can follow the report."""


def with_scores(
    report: Outcome, scores: Scores, printing: Printing, one_message: OneMessage
) -> None:
    """Print a report and the scores of the same logs: one text, or one JSON object.

    `one_message` has the same meaning as in the rendering of a report as text.
    """
    if printing.format == "json":
        text = _as_json(report, scores)
    else:
        text = _as_text(report, scores, printing, one_message)
    send(text, printing.output)


def _as_json(report: Outcome, scores: Scores) -> str:
    import msgspec

    from podium.compliance.reporting.json_text import json_text

    return json_text(msgspec.to_builtins(report) | {"scores": scores.model_dump()})


def _as_text(report: Outcome, scores: Scores, printing: Printing, one_message: OneMessage) -> str:
    from podium.compliance.reporting.placing import placed
    from podium.compliance.reporting.render.text import render
    from podium.compliance.tools.scoring.render.text import to_text

    shine = colored(printing.color, printing.output)
    table = to_text(scores, width(), shine, quiet=True)
    visible = placed(report, printing.root or os.getcwd())
    text = render(visible, width(), shine, printing.quiet, printing.full, one_message)
    return f"{table}\n{text}"
