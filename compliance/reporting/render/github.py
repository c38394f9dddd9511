"""The report as GitHub Actions workflow commands: one annotation per finding, then the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.compliance.reporting.conclusion import headline
from podium.compliance.reporting.grouping import own_findings
from podium.compliance.reporting.render.words import official, remarks, summary
from podium.compliance.text.terminal import clean

if TYPE_CHECKING:
    from podium.compliance.reporting.data import Outcome
    from podium.rules.finding import Finding

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = {"error": 0, "warning": 1, "notice": 2}


def render(report: Outcome) -> str:
    """Render the report as workflow commands, errors first.

    Waived findings are notices, and consequences are omitted. GitHub shows ten annotations of each
    kind per step; the rest are in the output of the step.
    """
    findings = sorted(
        own_findings(report), key=lambda finding: (finding.waived, _ORDER[_command(finding)])
    )
    lines = [_line(finding) for finding in findings]
    verdicts = [f"{headline(report)}: {summary(report)}", official(report)]
    lines.append("; ".join(filter(None, verdicts)))
    return "\n".join(lines) + "\n"


def _command(finding: Finding) -> str:
    return "notice" if finding.waived else _COMMANDS[finding.severity.value]


def _line(finding: Finding) -> str:
    properties = [f"file={_property(finding.path)}"] if finding.path else []
    if finding.line is not None:
        properties.append(f"line={finding.line}")
    title = f"waived: {finding.id}" if finding.waived else finding.id
    properties.append(f"title={_property(title)}")
    lines = [finding.message, *(f"{label}: {text}" for label, text in remarks(finding))]
    # Joined after escaping: only these line ends must reach GitHub
    message = "%0A".join(_data(line) for line in lines)
    return f"::{_command(finding)} {','.join(properties)}::{message}"


def _data(text: str) -> str:
    """Escape cleaned text for a command's message; its line ends are already escaped."""
    return clean(text).replace("%", "%25")


def _property(text: str) -> str:
    # A colon or a comma would end the property
    return _data(text).replace(":", "%3A").replace(",", "%2C")
