"""A rule that no table and no check states: of a package, a file or a result, as one value.

Its page, its `explain` text, its finding and its test are all derived from the value, which stands
in the module that reports it.
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
"""What violates a rule, or obeys it: edits of a complete submission, or a sentence where no edit
can show it. A sentence needs a case of its own in the tests."""


class FixedRule(msgspec.Struct, frozen=True):
    """One rule: `says` what must hold, `why` it must, and how a finding of it reads.

    `message`, `help` and `expected` are templates, filled from the fields that `found` is given;
    `actual` names the field that a finding shows as the actual value. `severity` is that of the
    policy profile, `in_verifier` that of the verifier profile, None where a profile does not report
    the rule. `varies` says when another text than `stated_by` states the rule, or when it weighs
    more or less; only then may a finding say so. `cites` names the document and the heading of the
    section that states it; a finding of what only the verifier states cites its program. `follows`
    are the rules whose findings may cause findings of this one. `reads_content` is false for a rule
    that judges a file by its name or place, or whether it can be read: all others also follow from
    what keeps a log from being read.
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

        `stated_by` and `severity` are given where the rule varies. `remark` is put behind the
        message: what only some findings have to say, such as how many more there are. Raises
        ValueError for a text or a severity that the rule does not have, KeyError where a template
        lacks its field: both are mistakes of the caller.
        """
        # What a page says of a rule would not be true of such a finding
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
        """The message with its fields named, not filled; empty where one field is all of it."""
        named = named_fields(self.message)
        return "" if named.startswith("<") and named.endswith(">") and " " not in named else named

    @property
    def general_help(self) -> str:
        """The help with its fields named, not filled."""
        return named_fields(self.help)

    @property
    def reported(self) -> dict[Profile, str]:
        """How much a finding weighs in each profile, as a word; empty where it is not reported."""
        weights = ((Profile.POLICY, self.severity), (Profile.VERIFIER, self.in_verifier))
        return {profile: "" if weight is None else weight.value for profile, weight in weights}

    def _cites(self, stated_by: StatedBy) -> str:
        if stated_by is not StatedBy.VERIFIER:
            return self.cites
        programs = (each for each in self.cites.split("; ") if each.startswith(VERIFIER))
        return next(programs, official(self.id))

    def severity_in(self, profile: Profile, stated_by: StatedBy) -> Severity:
        """How much a finding weighs in a profile, where that text states it."""
        if stated_by is self.stated_by:
            ours, theirs = self.severity, self.in_verifier
            weight = theirs or ours if profile is Profile.VERIFIER else ours or theirs
            if weight is None:
                raise ValueError(f"{self.id} is reported in no profile")
            return weight
        return _weight(stated_by, profile)


def named_fields(template: str) -> str:
    """A template with its fields named as <field>: the general sentence of its findings."""
    return "".join(
        text + (f"<{field}>" if field else "") for text, field, *_ in Formatter().parse(template)
    )


def _weight(stated_by: StatedBy, profile: Profile) -> Severity:
    """The policy overrules what only the official verifier rejects, in its own profile."""
    if stated_by in (StatedBy.POLICY, StatedBy.PODIUM):
        return Severity.WARNING
    overruled = stated_by is StatedBy.VERIFIER and profile is Profile.POLICY
    return Severity.WARNING if overruled else Severity.ERROR


def declared_in(*modules: ModuleType) -> tuple[FixedRule, ...]:
    """The rules of some modules, in the order of their texts; where a module has RULES, in that."""
    found = (
        value
        for module in modules
        for value in getattr(module, "RULES", vars(module).values())
        if isinstance(value, FixedRule)
    )
    # A module may import the rule of another
    return tuple({rule.id: rule for rule in found}.values())


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
    """The texts and options of a rule, apart from its id and who states it."""

    cites: str


class VerifierTexts(_Texts):
    """The same of a rule that only the official verifier holds: it cites the program."""

    cites: NotRequired[str]


def both(id: str, severity: Severity = Severity.ERROR, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002 - the rule's id
    """A rule that both texts state: an error in either profile, unless `severity` says less."""
    return FixedRule(
        id=id, stated_by=StatedBy.BOTH, severity=severity, in_verifier=severity, **texts
    )


def policy(id: str, severity: Severity = Severity.WARNING, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """A rule that only the written policy states: a warning, unless `severity` says otherwise."""
    return FixedRule(id=id, stated_by=StatedBy.POLICY, severity=severity, in_verifier=None, **texts)


def policy_in_both(
    id: str,  # noqa: A002 - the rule's id
    severity: Severity = Severity.ERROR,
    **texts: Unpack[Texts],
) -> FixedRule:
    """A rule of the written policy that weighs the same in the verifier's profile."""
    return FixedRule(
        id=id, stated_by=StatedBy.POLICY, severity=severity, in_verifier=severity, **texts
    )


def note(id: str, **texts: Unpack[Texts]) -> FixedRule:  # noqa: A002
    """Something that the policy asks one to look at."""
    return policy(id, Severity.NOTE, **texts)


def own(
    id: str,  # noqa: A002
    severity: Severity = Severity.WARNING,
    in_verifier: Severity | None = None,
    **texts: Unpack[Texts],
) -> FixedRule:
    """A rule of podium's own, on what no text speaks of: a warning in the policy's profile.

    `in_verifier` is given for what keeps either profile from judging at all.
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
    """A rule that only the official verifier holds: an error in its profile, else a warning.

    `in_verifier` is None for what only the policy's profile warns of.
    """
    texts.setdefault("cites", official(id))
    return FixedRule(
        id=id,
        stated_by=StatedBy.VERIFIER,
        severity=severity,
        in_verifier=in_verifier,
        **texts,
    )
