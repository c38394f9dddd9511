"""A violation in a reading of a run, before it becomes findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from podium.compliance.judging.logs.log_rules import CRASHED, PROCESS_LOST
from podium.rules.finding import Finding, Severity, StatedBy
from podium.rules.run import Run
from podium.rules.table import Row, Violation

if TYPE_CHECKING:
    from podium.compliance.reporting.models import FindingEntry

RULE_CRASHED = CRASHED.id
"""An internal error of podium, for which the process has its own exit status."""


NOT_JUDGED = frozenset({RULE_CRASHED, PROCESS_LOST.id})
"""Rules that no selection excludes, because the rest of the file was not checked."""


def crashed(findings: Iterable[Finding | FindingEntry]) -> bool:
    """Whether a finding reports an internal error of podium."""
    return any(finding.id == RULE_CRASHED for finding in findings)


class RuleViolation(msgspec.Struct):
    """A violated rule, before it becomes findings. `row` is the table row, if there is one.

    `unread`: it is violated only because the official reader cannot read some lines.
    """

    id: str
    key: str | None
    violations: list[Violation]
    severity: Severity
    stated_by: StatedBy
    run: Run
    row: Row | None = None
    cites: str = ""
    policy_exempt_reason: bool = False
    unread: bool = False


def text_of(value: Any) -> str:
    """The value if it is a string, otherwise an empty string."""
    return value if isinstance(value, str) else ""
