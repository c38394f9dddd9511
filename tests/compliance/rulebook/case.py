"""A failing and a passing case of a rule that no edit of the complete submission can show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.reporting.models import FindingEntry
from podium.rules.finding import Finding

Reported = Callable[[Path, str], Iterable[Finding | FindingEntry]]
"""Builds files in an empty folder, and returns all findings on them in a profile."""


@dataclass(frozen=True)
class Case:
    """The findings on a violation of the rule, and on its correction."""

    bad: Reported
    good: Reported
