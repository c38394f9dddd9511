"""One system description against its round: every fault at once, with the line of its field.

Of two texts, as for logs: an error is what the official verifier demands and the policy does not
contradict. What only the policy demands is a warning (an error in a round without a verifier), and
so is what the verifier demands though the policy makes it optional. Counts that the official result
summary cannot be made without are errors, though the verifier looks at none of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from podium.compliance.systems.document import (
    Document,
    parse_description,
    read_description,
    unread_description,
)
from podium.compliance.systems.fields import CITES
from podium.compliance.systems.rules import Fault, faults_of, short
from podium.compliance.systems.values import SystemDescription, describe
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.round import Round

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
    """What is known of a description once judged; `description` is None where it is no object.

    `divides`: the official package checker can take the division of it, and does not end on it.
    """

    findings: list[Finding] = msgspec.field(default_factory=list)
    description: SystemDescription | None = None
    divides: bool = False

    @property
    def passed(self) -> bool:
        """Whether no finding is an error."""
        return not any(found.severity is Severity.ERROR for found in self.findings)


def check_system(
    path: Path, display_path: str, rules: Round, profile: Profile, *, by_schema: bool = False
) -> SystemVerdict:
    """Judge the description in a file, which findings call `shown`; never raises.

    `by_schema` compares what has no fault with the round's JSON Schema, too. The rules find all
    that the schema rejects, as the tests see to; a package need not wait for the library to load.
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
    """Judge a description that was read."""
    findings = []
    for fault in faults_of(document, rules, verifier=profile is Profile.VERIFIER):
        severity = _severity(fault, rules, profile)
        if severity is not None:
            findings.append(_finding(fault, severity, document, display_path))
    description = describe(document.fields) if document.is_object else None
    if by_schema and profile is Profile.POLICY and not findings:
        findings = [*_unfit(document, display_path, rules)]
    return SystemVerdict(findings, description, document.sound and "division" in document.fields)


def _unfit(document: Document, display_path: str, rules: Round) -> Iterator[Finding]:
    """What the published schema rejects though no rule does: what is faultless must fit it."""
    from podium.compliance.systems.schema import unfit

    for key, keyword in unfit(document.fields, rules):
        said = f"`{key}` does" if key else "the description does"
        fault = Fault(
            "system.schema",
            key,
            f"{said} not fit the round's schema ({keyword})",
            "compare it with podium system schema",
            severity=Severity.WARNING,
        )
        yield _finding(fault, Severity.WARNING, document, display_path)


def _severity(fault: Fault, rules: Round, profile: Profile) -> Severity | None:
    """How much a fault weighs in a profile; None where it does not count."""
    if profile is Profile.VERIFIER:
        return Severity.ERROR if fault.official else None
    if fault.severity is not None:
        return fault.severity
    if fault.official and fault.policy:
        return Severity.ERROR
    if fault.official:
        return Severity.WARNING if rules.verified else None
    return Severity.WARNING if rules.verified else Severity.ERROR


def _finding(fault: Fault, severity: Severity, document: Document, display_path: str) -> Finding:
    stated = StatedBy.POLICY
    if fault.official:
        stated = StatedBy.BOTH if fault.policy else StatedBy.VERIFIER
    given = document.fields.get(fault.key) if fault.key is not None else None
    line = fault.line
    if line is None and fault.key is not None:
        line = document.line_of(fault.key)
    return Finding(
        id=fault.id,
        severity=severity,
        path=display_path,
        line=line,
        key=fault.key,
        message=fault.message,
        expected=fault.expected,
        actual=given if isinstance(given, bool | int | float) else short(given),
        hint=fault.hint,
        cites=CITES,
        stated_by=stated,
    )
