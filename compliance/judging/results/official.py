"""Marks on findings of the policy profile for which the official verifier rejects, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.hindsight import verifier_only
from podium.rules.model.round import Round
from podium.rules.quirks import QUIRKS, Quirks


class JudgingContext(msgspec.Struct, frozen=True):
    """The round and the profile with which a submission is checked."""

    rules: Round
    profile: Profile

    @property
    def quirks(self) -> Quirks:
        """The quirks of the profile."""
        return QUIRKS[self.profile]

    @property
    def official(self) -> JudgingContext | None:
        """The same round in the verifier profile; None if it adds no verdict to the profile's."""
        if self.profile is Profile.VERIFIER or not self.rules.verified:
            return None
        return JudgingContext(self.rules, Profile.VERIFIER)

    def judge(self, part: Callable[[JudgingContext], Iterable[Finding]]) -> list[Finding]:
        """The findings of one part in the profile, marked if the official verifier rejects."""
        findings, official = list(part(self)), self.official
        return findings if official is None else mark_official(findings, part(official), self.rules)


def deciding(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that reject: errors that are not waived."""
    return [f for f in findings if f.severity is Severity.ERROR and not f.waived]


def mark_official(
    findings: Iterable[Finding], official: Iterable[Finding], rules: Round
) -> list[Finding]:
    """The findings of the policy profile, marked if the verifier profile has the same error.

    An error that the policy profile does not report is added, with the severity that the policy
    profile gives to rules of the verifier alone.
    """
    marked = list(findings)
    indices: dict[tuple[str, str], list[int]] = {}
    for index, finding in enumerate(marked):
        indices.setdefault((finding.path, finding.id), []).append(index)
    for error in deciding(official):
        candidates = indices.get((error.path, error.id))
        if candidates is None:
            weight = verifier_only(rules)
            extra = replace(error, severity=weight, stated_by=StatedBy.VERIFIER, official=True)
            marked.append(extra)
        else:
            match = (index for index in candidates if marked[index].line == error.line)
            index = next(match, candidates[0])
            marked[index] = replace(marked[index], official=True)
    return marked
