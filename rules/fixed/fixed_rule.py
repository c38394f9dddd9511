"""A rule outside the tables and checks: on a package, a file or a result, as one value.

Its page, its `explain` text, its finding and its test are derived from the value, which is in the
module that reports it.
"""

from __future__ import annotations

from string import Formatter
from types import ModuleType
from typing import Any, NotRequired, TypedDict, Unpack

import msgspec

from podium.rules.citations import VERIFIER, official
from podium.rules.consequences import Follows
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed.edits import Edit

Example = str | tuple[Edit, ...]
"""An example that violates or obeys a rule: edits of a complete submission, or a sentence if no
edit can show it. A sentence needs a separate test case."""


class FixedRule(msgspec.Struct, frozen=True):
    """One rule: `says` is the requirement, `why` the reason; the other texts are for its findings.

    `message`, `help` and `expected` are templates, filled with the fields passed to `found`;
    `actual` names the field with the actual value of a finding. `severity` applies to the policy
    profile, `in_verifier` to the verifier profile; None means that the profile does not report the
    rule. `varies` says when another source than `stated_by` states the rule, or when its severity
    differs; findings may differ only if it is set. `cites` names the document and the heading of
    the section that states the rule; a finding that only the verifier states cites its program.
    `follows` are the rules whose findings may cause findings of this rule. `reads_content` is false
    for a rule that checks the name or place of a file, or whether it can be read: all other rules
    also follow from faults that prevent a log from being read.
    """

    id: str
    says: str
    why: str
    message: str
    help: str
    stated_by: StatedBy
    severity: Severity | None
    in_verifier: Severity | None
    cites: str
    expected: str = ""
    actual: str = ""
    bad: Example = ""
    good: Example = ""
    varies: str = ""
    follows: tuple[Follows, ...] = ()
    reads_content: bool = True

    def found(
        self,
        profile: Profile,
        path: str,
        *,
        line: int | None = None,
        key: str | None = None,
        stated_by: StatedBy | None = None,
        severity: Severity | None = None,
        remark: str = "",
        **fields: Any,
    ) -> Finding:
        """A finding of this rule at a file or folder.

        `stated_by` and `severity` may be passed only if the rule varies. `remark` is appended to
        the message: a fact that only some findings have, such as the number of further places.
        Raises ValueError for a source or a severity that the rule does not have, and KeyError if a
        template lacks its field: both are errors of the caller.
        """
        # Such a finding would contradict the page of the rule
        if (stated_by or severity) and not self.varies:
            raise ValueError(f"{self.id} does not vary")
        text = self.stated_by if stated_by is None else stated_by
        return Finding(
            id=self.id,
            severity=severity or self.severity_in(profile, text),
            path=path,
            line=line,
            key=key,
            message=self.message.format_map(fields) + remark,
            expected=self.expected.format_map(fields),
            actual=fields[self.actual] if self.actual else None,
            hint=self.help.format_map(fields),
            cites=self._cites(text),
            stated_by=text,
        )

    @property
    def general_message(self) -> str:
        """The message with the names of its fields; empty if it consists of one field."""
        message = named_fields(self.message)
        return (
            ""
            if message.startswith("<") and message.endswith(">") and " " not in message
            else message
        )

    @property
    def general_help(self) -> str:
        """The help with the names of its fields."""
        return named_fields(self.help)

    @property
    def reported(self) -> dict[Profile, str]:
        """The severity of a finding in each profile, as a word; empty if it is not reported."""
        weights = ((Profile.POLICY, self.severity), (Profile.VERIFIER, self.in_verifier))
        return {profile: "" if weight is None else weight.value for profile, weight in weights}

    def _cites(self, stated_by: StatedBy) -> str:
        if stated_by is not StatedBy.VERIFIER:
            return self.cites
        programs = (program for program in self.cites.split("; ") if program.startswith(VERIFIER))
        return next(programs, official(self.id))

    def severity_in(self, profile: Profile, stated_by: StatedBy) -> Severity:
        """The severity of a finding in a profile, if this source states it."""
        if stated_by is self.stated_by:
            policy_severity, verifier_severity = self.severity, self.in_verifier
            weight = (
                verifier_severity or policy_severity
                if profile is Profile.VERIFIER
                else policy_severity or verifier_severity
            )
            if weight is None:
                raise ValueError(f"{self.id} is reported in no profile")
            return weight
        return _weight(stated_by, profile)


def named_fields(template: str) -> str:
    """A template with its fields shown as <field>: the general message of its findings."""
    return "".join(
        text + (f"<{field}>" if field else "") for text, field, *_ in Formatter().parse(template)
    )


def _weight(stated_by: StatedBy, profile: Profile) -> Severity:
    """The severity of a rule from this source: the policy profile overrules the verifier."""
    if stated_by in (StatedBy.POLICY, StatedBy.PODIUM):
        return Severity.WARNING
    overruled = stated_by is StatedBy.VERIFIER and profile is Profile.POLICY
    return Severity.WARNING if overruled else Severity.ERROR


def declared_in(*modules: ModuleType) -> tuple[FixedRule, ...]:
    """The rules of modules, in their order in the source or in RULES if a module has it."""
    rules = (
        value
        for module in modules
        for value in getattr(module, "RULES", vars(module).values())
        if isinstance(value, FixedRule)
    )
    # A module may import a rule of another module
    return tuple({rule.id: rule for rule in rules}.values())


class _Texts(TypedDict):
    says: str
    why: str
    message: str
    help: str
    expected: NotRequired[str]
    actual: NotRequired[str]
    bad: NotRequired[Example]
    good: NotRequired[Example]
    varies: NotRequired[str]
    follows: NotRequired[tuple[Follows, ...]]
    reads_content: NotRequired[bool]


class Texts(_Texts):
    """The texts and options of a rule, without its id and its source."""

    cites: str


class VerifierTexts(_Texts):
    """The texts of a rule that only the official verifier states: it cites the program."""

    cites: NotRequired[str]


def both(id: str, severity: Severity = Severity.ERROR, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002 - the rule's id
    """A rule of both sources: an error in both profiles, unless `severity` is lower."""
    return FixedRule(
        id=id, stated_by=StatedBy.BOTH, severity=severity, in_verifier=severity, **texts
    )


def policy(id: str, severity: Severity = Severity.WARNING, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """A rule that only the written policy states: a warning, unless `severity` differs."""
    return FixedRule(id=id, stated_by=StatedBy.POLICY, severity=severity, in_verifier=None, **texts)


def policy_in_both(
    id: str,  # noqa: A002 - the rule's id
    severity: Severity = Severity.ERROR,
    **texts: Unpack[Texts],
) -> FixedRule:
    """A rule of the written policy with the same severity in the verifier profile."""
    return FixedRule(
        id=id, stated_by=StatedBy.POLICY, severity=severity, in_verifier=severity, **texts
    )


def note(id: str, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """A rule of the policy that only asks for attention: a note."""
    return policy(id, Severity.NOTE, **texts)


def own(
    id: str,  # noqa: A002
    severity: Severity = Severity.WARNING,
    in_verifier: Severity | None = None,
    **texts: Unpack[Texts],
) -> FixedRule:
    """A rule of podium, on a subject that no source covers: a warning in the policy profile.

    `in_verifier` is set for faults that prevent a check in both profiles.
    """
    return FixedRule(
        id=id, stated_by=StatedBy.PODIUM, severity=severity, in_verifier=in_verifier, **texts
    )


def verifier(
    id: str,  # noqa: A002
    severity: Severity = Severity.WARNING,
    in_verifier: Severity | None = Severity.ERROR,
    **texts: Unpack[VerifierTexts],
) -> FixedRule:
    """A rule that only the official verifier states: an error in its profile, else a warning.

    `in_verifier` is None for rules that only the policy profile reports.
    """
    texts.setdefault("cites", official(id))
    return FixedRule(
        id=id,
        stated_by=StatedBy.VERIFIER,
        severity=severity,
        in_verifier=in_verifier,
        **texts,
    )
