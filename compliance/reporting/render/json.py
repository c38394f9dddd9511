"""The report as JSON, which scripts read (contract `podium.report/1`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.compliance.reporting.json_text import json_text

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome


def render(report: Outcome) -> str:
    """Render the report as JSON, indented by two spaces, with non-finite numbers as strings."""
    return json_text(report)
