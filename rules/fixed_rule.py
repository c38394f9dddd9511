"""A rule that no table and no check states: of a package, a file or a result, as one value.

Its page, its `explain` text, its finding and its test are all derived from the value, which stands
in the module that reports it.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, Unpack

import msgspec

from podium.rules.edits import Edit
from podium.rules.finding import Finding, Profile, Severity, StatedBy

Example = str | tuple[Edit, ...]
"""What violates a rule, or obeys it: edits of a complete submission, or a sentence where no edit
can show it. A sentence needs a case of its own in the tests."""


class FixedRule(msgspec.Struct, frozen=True):
    """One rule: `says` what must hold, `why` it must, and how a finding of it reads.

    `message`, `help` and `expected` are templates, filled from the fields that `found` is given;
    `actual` names the field that a finding shows as the actual value. `severity` is that of the
    policy profile, `in_verifier` that of the verifier profile, None where it does not report the
    rule. `varies` says when another text than `stated_by` states the rule; only then may a finding
    say so. `cites` is the heading of the section that states it.
    """

    id: str
    says: str
    why: str
    message: str
    help: str
    stated_by: StatedBy
    severity: Severity
    in_verifier: Severity | None
    cites: str = ""
    expected: str = ""
    actual: str = ""
    bad: Example = ""
    good: Example = ""
    varies: str = ""
    formerly: tuple[str, ...] = ()

    def found(
        self,
        profile: Profile,
        path: str,
        *,
        line: int | None = None,
        key: str | None = None,
        stated_by: StatedBy | None = None,
        **fields: Any,
    ) -> Finding:
        """A finding of this rule at a file or folder.

        `stated_by` is given where the rule varies. Raises ValueError for one that it does not have,
        KeyError where a template lacks its field: both are mistakes of the caller.
        """
        text = self.stated_by if stated_by is None else stated_by
        return Finding(
            id=self.id,
            severity=self.severity_in(profile, text),
            path=path,
            line=line,
            key=key,
            message=self.message.format_map(fields),
            expected=self.expected.format_map(fields),
            actual=fields[self.actual] if self.actual else None,
            hint=self.help.format_map(fields),
            cites=self.cites,
            stated_by=text,
        )

    def severity_in(self, profile: Profile, stated_by: StatedBy) -> Severity:
        """How much a finding weighs in a profile, where that text states it."""
        if stated_by is self.stated_by:
            in_verifier = self.in_verifier or self.severity
            return in_verifier if profile is Profile.VERIFIER else self.severity
        if not self.varies:
            raise ValueError(f"{self.id} is stated by {self.stated_by}, always")
        return _weight(stated_by, profile)


def _weight(stated_by: StatedBy, profile: Profile) -> Severity:
    """The policy overrules what only the official verifier rejects, in its own profile."""
    if stated_by is StatedBy.POLICY:
        return Severity.WARNING
    overruled = stated_by is StatedBy.VERIFIER and profile is Profile.POLICY
    return Severity.WARNING if overruled else Severity.ERROR


class Texts(TypedDict):
    """What a rule is declared with, beside its id and who states it."""

    says: str
    why: str
    message: str
    help: str
    cites: NotRequired[str]
    expected: NotRequired[str]
    actual: NotRequired[str]
    bad: NotRequired[Example]
    good: NotRequired[Example]
    varies: NotRequired[str]
    formerly: NotRequired[tuple[str, ...]]


def both(id: str, severity: Severity = Severity.ERROR, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002 - the rule's id
    """A rule that both texts state: an error in either profile, unless `severity` says less."""
    return FixedRule(
        id=id, stated_by=StatedBy.BOTH, severity=severity, in_verifier=severity, **texts
    )


def policy(id: str, severity: Severity = Severity.WARNING, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """A rule that only the written policy states: a warning, unless `severity` says otherwise."""
    return FixedRule(id=id, stated_by=StatedBy.POLICY, severity=severity, in_verifier=None, **texts)


def note(id: str, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """Something that the policy asks one to look at."""
    return policy(id, Severity.NOTE, **texts)


def verifier(id: str, severity: Severity = Severity.WARNING, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """A rule that only the official verifier holds: an error in its profile, else a warning."""
    return FixedRule(
        id=id,
        stated_by=StatedBy.VERIFIER,
        severity=severity,
        in_verifier=Severity.ERROR,
        **texts,
    )
