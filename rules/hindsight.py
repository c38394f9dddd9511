"""Severity of findings in rounds that were checked with an older verifier than the current one."""

from __future__ import annotations

from msgspec.structs import replace

from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.model.round import Round


def verifier_only(rules: Round) -> Severity:
    """The severity, in the policy profile, of a rule that only the official verifier states."""
    return Severity.WARNING if rules.verifier_in_force else Severity.NOTE


def in_hindsight(findings: list[Finding], rules: Round, profile: Profile) -> list[Finding]:
    """The findings of a round with the severities of today: verifier-only rules may be notes.

    The official verifier has new rules that it applies to old rounds (seeds, names of tensors),
    although these rounds accept no uploads. In the policy profile, a verifier-only finding is
    therefore a note instead of a warning in rounds for which this verifier was not used.
    """
    if rules.verifier_in_force or profile is Profile.VERIFIER:
        return findings
    return [
        replace(finding, severity=Severity.NOTE)
        if finding.stated_by is StatedBy.VERIFIER and finding.severity is Severity.WARNING
        else finding
        for finding in findings
    ]
