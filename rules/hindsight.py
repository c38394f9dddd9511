"""How much findings weigh in a round that was judged by an older verifier than today's."""

from __future__ import annotations

from msgspec.structs import replace

from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.model.round import Round


def verifier_only(rules: Round) -> Severity:
    """What a finding weighs in the policy profile, where only the official verifier demands it."""
    return Severity.WARNING if rules.verifier_in_force else Severity.NOTE


def in_hindsight(findings: list[Finding], rules: Round, profile: Profile) -> list[Finding]:
    """The findings of a round, weighed as of today: what only the verifier demands may be a note.

    The official verifier has gained rules that it applies to rounds long published (seeds, names of
    tensors), and nothing is uploaded to those any more. So in the policy profile what it alone
    demands is a note where a warning would be, in rounds before those that it was in force in.
    """
    if rules.verifier_in_force or profile is Profile.VERIFIER:
        return findings
    return [
        replace(found, severity=Severity.NOTE)
        if found.stated_by is StatedBy.VERIFIER and found.severity is Severity.WARNING
        else found
        for found in findings
    ]
