"""A broken rule as a reading of a run finds it, before it becomes findings."""

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
"""A fault of podium's own: the process ends with the exit status for it."""


NOT_JUDGED = frozenset({RULE_CRASHED, PROCESS_LOST.id})
"""What no selection of rules leaves out: the rest of the file was not judged."""


def crashed(findings: Iterable[Finding | FindingEntry]) -> bool:
    """Whether findings tell of a fault of podium itself."""
    return any(found.id == RULE_CRASHED for found in findings)


class RuleViolation(msgspec.Struct):
    """A broken rule, before it becomes findings. `row` is the table row, where there is one.

    `unread`: it is broken only because the official reader cannot read some lines.
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
    """A string as it is; nothing for what is none."""
    return value if isinstance(value, str) else ""
