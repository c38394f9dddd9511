"""The check of one system description: all findings at once, with the lines of the fields."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from podium.compliance.judging.systems.document import Document
from podium.compliance.judging.systems.inspection import Inspection, shown_value
from podium.compliance.judging.systems.plausibility import judge_plausibility
from podium.compliance.judging.systems.reader import (
    line_of,
    parse_description,
    read_description,
    unread_description,
)
from podium.compliance.judging.systems.system_rules import SCHEMA
from podium.compliance.judging.systems.values import SystemDescription, describe
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.hindsight import in_hindsight
from podium.rules.model.round import Round

__all__ = [
    "SystemDescription",
    "SystemVerdict",
    "check_system",
    "describe",
    "judge_description",
    "parse_description",
    "read_description",
    "unread_description",
]


class SystemVerdict(msgspec.Struct):
    """The verdict on a description; `description` is None if the file is not an object."""

    findings: list[Finding] = msgspec.field(default_factory=list)
    description: SystemDescription | None = None

    @property
    def passed(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)


def check_system(
    path: Path, display_path: str, rules: Round, profile: Profile, *, by_schema: bool = False
) -> SystemVerdict:
    """Check the description in a file, which findings call `display_path`; never raises.

    `by_schema` also compares a description without findings with the round's JSON Schema. The tests
    ensure that the rules find everything that the schema rejects, so the check of a package need
    not load the library.
    """
    return judge_description(
        read_description(path), display_path, rules, profile, by_schema=by_schema
    )


def judge_description(
    document: Document,
    display_path: str,
    rules: Round,
    profile: Profile,
    *,
    by_schema: bool = False,
) -> SystemVerdict:
    """Check a description that was read."""
    inspection = Inspection(document, display_path, rules, profile)
    findings = in_hindsight([*inspection.findings()], rules, profile)
    description = describe(document.fields) if document.is_object else None
    # After a finding of a rule, the schema would only report the same again
    if by_schema and profile is Profile.POLICY and not findings:
        findings = [*_unfit(document, display_path, rules)]
    if profile is Profile.POLICY and document.is_object:
        findings += judge_plausibility(document, display_path, rules)
    return SystemVerdict(findings, description)


def _unfit(document: Document, display_path: str, rules: Round) -> Iterator[Finding]:
    """Findings about values that the published schema rejects although no rule does."""
    # Imported here: the library is slow to load, and the check of a package never needs it
    from podium.compliance.judging.systems.schema import unfit

    for key, keyword in unfit(document.fields, rules):
        yield SCHEMA.found(
            Profile.POLICY,
            display_path,
            line=None if key is None else line_of(document, key),
            key=key,
            given=shown_value(document, key),
            subject=f"`{key}`" if key else "the description",
            keyword=keyword,
        )
