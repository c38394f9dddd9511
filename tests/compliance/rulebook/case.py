"""A rule's failing and passing case, where no edit of the complete submission can show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.reporting.models import FindingEntry
from podium.rules.finding import Finding

Reported = Callable[[Path, str], Iterable[Finding | FindingEntry]]
"""All findings reported in a profile (policy or verifier) on what is built in an empty folder."""


@dataclass(frozen=True)
class Case:
    """What breaks the rule, and what obeys it."""

    bad: Reported
    good: Reported
