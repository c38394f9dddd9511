"""A report and the scores of the same logs, delivered as one text or one JSON object."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from podium.compliance.report.console import print_text, width, write_whole

if TYPE_CHECKING:
    from podium.compliance.report.data import Outcome
    from podium.compliance.report.grouping import OneMessage
    from podium.compliance.scoring.report import Scores

SCORED = ("text", "json")
"""Formats in which scores can follow the report."""


def with_scores(
    report: Outcome,
    scores: Scores,
    name: str,
    output: Path | None,
    *,
    color: bool,
    quiet: bool,
    full: bool,
    one_message: OneMessage,
) -> None:
    """Deliver a report and the scores of the same logs: one text, or one JSON object.

    For `full` and `one_message` see the rendering of a report as text.
    """
    if name == "json":
        import msgspec

        from podium.compliance.report.json_text import json_text

        body = msgspec.to_builtins(report) | {"scores": scores.model_dump()}
        text = json_text(body)
    else:
        from podium.compliance.report.render.text import render
        from podium.compliance.scoring.render.text import to_text

        plain = output is not None or not sys.stdout.isatty() or "NO_COLOR" in os.environ
        shine = color and not plain
        table = to_text(scores, width(), shine, quiet=True)
        text = f"{table}\n{render(report, width(), shine, quiet, full, one_message)}"
    if output is None:
        print_text(text)
    else:
        write_whole(output, text)
