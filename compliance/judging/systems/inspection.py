"""What is wrong with the fields of a system description, and which text says so.

An error is what the official verifier demands and the policy does not contradict. What only the
policy demands is a warning (an error in a round without a verifier), and so is what the verifier
demands though the policy makes it optional. Counts that the official result summary crashes without
are errors, though the verifier looks at none of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from podium.compliance.judging.systems.document import Document, TextFault
from podium.compliance.judging.systems.fields import (
    CANONICAL,
    COUNTS,
    DIVISIONS,
    EITHER,
    FIELDS,
    SYSTEM_TYPES,
    TABLE_FROM,
    V21,
    Category,
    Field,
    FieldKind,
    category_of,
    in_policy_wording,
    may_be_empty,
    misspelt_fields,
    period_of,
    status_intended,
    status_listed,
)
from podium.compliance.judging.systems.placeholders import lacks_accelerator, places_kept
from podium.compliance.judging.systems.reader import line_of
from podium.compliance.judging.systems.system_rules import (
    BAD_COUNT,
    BAD_DIVISION,
    BAD_STATUS,
    BAD_SYSTEM_TYPE,
    BAD_TYPE,
    CATEGORIES,
    EMPTY_FIELD,
    MISSING_FIELD,
    MISSPELT_FIELD,
    NOT_JSON,
    VERIFIER_CRASH,
)
from podium.compliance.judging.systems.values import (
    int_reads,
    is_empty,
    is_good,
    kind_of,
    read_count,
    read_division,
    short,
)
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.model.round import Round
from podium.rules.quirks import quirks_of

BY_FIX = " (podium fix does it)"
"""Ends the help of what has one legal spelling."""

POLICY, VERIFIER, BOTH = StatedBy.POLICY, StatedBy.VERIFIER, StatedBy.BOTH


def inspect(document: Document, path: str, rules: Round, profile: Profile) -> Iterator[Finding]:
    """Everything wrong with a description, at the path that findings show."""
    yield from _Inspection(document, path, rules, profile).findings()


def shown_value(document: Document, key: str | None) -> Any:
    """A field's value, as a finding shows it; None where there is none."""
    value = None if key is None else document.fields.get(key)
    return value if isinstance(value, bool | int | float) else short(value)


def _line_of(document: Document, key: str | None) -> int | None:
    return None if key is None else line_of(document, key)


class _Inspection:
    def __init__(self, document: Document, path: str, rules: Round, profile: Profile) -> None:
        self.document, self.path, self.rules, self.profile = document, path, rules, profile
        self.quirks = quirks_of(profile)
        self.fields = document.fields
        self.period = period_of(rules)
        self.known = self.period >= TABLE_FROM
        preview = category_of(self.fields.get("status")) is Category.PREVIEW
        # From 2.1 on a Preview may leave its cores open until the processor is public
        self.exempt = preview and self.period >= V21

    def findings(self) -> Iterator[Finding]:
        document = self.document
        for fault in document.faults:
            yield from self._of_text(fault)
        # The verifier ends before it looks at a field of a text that it cannot read.
        if not document.is_object or (self.quirks.stops_at_syntax and not document.sound):
            return
        fields, named = self.fields, document.named
        misspelt, optional = misspelt_fields(tuple(named)), may_be_empty(self.period)
        # The verifier looks for names alone: a file whose every value is empty passes it.
        for name, each in FIELDS.items():
            if name in fields:
                value = fields[name]
                if isinstance(value, str) and (is_good(name, value) if value else name in optional):
                    continue
                yield from self._crash(each)
                # Of values the official verifier demands only those of the status.
                if not self.quirks.ignores_policy or each.kind is FieldKind.STATUS:
                    yield from self._value(each)
            elif name not in named:
                yield from self._missing(each, misspelt.get(name))
        yield from self._neither()

    def _found(
        self,
        rule: FixedRule,
        key: str | None,
        stated_by: StatedBy | None = None,
        severity: Severity | None = None,
        *,
        line: int | None = None,
        **fields: Any,
    ) -> Iterator[Finding]:
        """A finding, unless the profile does not report what only that text states.

        Without a verifier the policy's demands are all there is, and errors; but for values that
        say nothing, which reviewers have let pass (rules that do not vary).
        """
        stated_by = stated_by or rule.stated_by
        if self.quirks.ignores_policy:
            if stated_by is POLICY:
                return
        elif not self.rules.verified and stated_by is not BOTH:
            if stated_by is VERIFIER:
                return
            severity = severity or (Severity.ERROR if rule.varies else None)
        yield rule.found(
            self.profile,
            self.path,
            line=_line_of(self.document, key) if line is None else line,
            key=key,
            stated_by=None if stated_by is rule.stated_by else stated_by,
            severity=severity,
            given=shown_value(self.document, key),
            **fields,
        )

    def _of_text(self, fault: TextFault) -> Iterator[Finding]:
        stated_by = BOTH if fault.official else POLICY
        yield from self._found(fault.rule, fault.key, stated_by, line=fault.line, **fault.fields)

    # --- fields that are missing ---

    def _missing(self, each: Field, instead: str | None) -> Iterator[Finding]:
        demanded = self.known and each.required(self.period)
        if instead is not None and not self.quirks.ignores_policy:
            stated_by = _stated_by(each.official, policy=demanded or not each.official)
            yield from self._found(
                MISSPELT_FIELD,
                instead,
                stated_by,
                severity=None if self._counts(each) else Severity.WARNING,
                written=instead,
                field=each.name,
            )
            return
        how = each.meaning + (f", such as {each.example!r}" if each.example else "")
        if instead is not None:
            how = f"rename `{instead}` to it"
        if demanded:
            stated_by = _stated_by(each.official)
            note = each.seldom and stated_by is POLICY
            severity = Severity.NOTE if note else None
            yield from self._absent(each, stated_by, how, severity=severity)
        elif each.official and not (each.name in EITHER and self._neither_given()):
            why = "optional by the policy" if self.known else "not in this round's policy"
            detail = f": the official verifier rejects the file, though the field is {why}"
            yield from self._absent(each, VERIFIER, f"{how}; it may be empty", detail)
        # The submission rules made this demand days after the deadline of 2.0: it is advice there
        elif each.recommended(self.period):
            detail = ": required from 2.1 on"
            yield from self._absent(each, POLICY, how, detail, Severity.NOTE)

    def _absent(
        self,
        each: Field,
        stated_by: StatedBy,
        how: str,
        detail: str = "",
        severity: Severity | None = None,
    ) -> Iterator[Finding]:
        for found in self._found(
            MISSING_FIELD, each.name, stated_by, severity, field=each.name, detail=detail, how=how
        ):
            # It may stand behind the fault of syntax
            yield replace(found, caused_by=NOT_JSON.id) if self.document.cut else found

    def _neither_given(self) -> bool:
        """Whether the policy, too, misses the count of cores and of virtual processors."""
        absent = not any(name in self.document.named for name in EITHER)
        return self.known and not self.exempt and absent

    def _neither(self) -> Iterator[Finding]:
        """Either count of cores suffices by the policy; neither is needed for a Preview."""
        if self._neither_given():
            # The verifier demands both keys, though the policy wants either.
            for name, other in (EITHER, EITHER[::-1]):
                detail = f"; the policy wants it or `{other}`"
                how = "the official verifier wants both fields"
                yield from self._absent(FIELDS[name], BOTH, how, detail)
        elif self.known and not self.exempt:
            given = [name for name in EITHER if name in self.document.named]
            if all(name in self.fields and is_empty(self.fields[name]) for name in given):
                yield from self._found(
                    EMPTY_FIELD,
                    given[0],
                    severity=Severity.WARNING,
                    what=f"both `{EITHER[0]}` and `{EITHER[1]}` are",
                    meaning="cores or the virtual processors",
                )

    # --- values ---

    def _crash(self, each: Field) -> Iterator[Finding]:
        value = self.fields[each.name]
        # The verifier joins these values as strings without asking for their type.
        if each.crashes and not isinstance(value, str):
            yield from self._found(VERIFIER_CRASH, each.name, field=each.name, kind=kind_of(value))

    def _value(self, each: Field) -> Iterator[Finding]:
        name, value = each.name, self.fields[each.name]
        if each.kind is FieldKind.STATUS and (status_listed(self.rules) or not is_empty(value)):
            yield from self._status(value)
        elif each.kind is FieldKind.DIVISION:
            yield from self._division(value)
        elif is_empty(value):
            yield from self._empty(each)
        elif kept := [*places_kept(each, self.fields)]:
            for place in kept:
                yield from self._found(place.rule, name, **place.members(each))
        elif each.kind is FieldKind.COUNT:
            yield from self._count(each, value)
        elif each.kind is FieldKind.SYSTEM_TYPE and each.required(self.period):
            if not (isinstance(value, str) and value.strip().casefold() in SYSTEM_TYPES):
                yield from self._found(BAD_SYSTEM_TYPE, name, value=short(value))
        elif isinstance(value, bool if each.kind is FieldKind.ANY else bool | list | dict):
            yield from self._found(BAD_TYPE, name, field=name, kind=kind_of(value))

    def _empty(self, each: Field) -> Iterator[Finding]:
        name = each.name
        if lacks_accelerator(each, self.fields):
            return
        if name in COUNTS:
            yield from self._bad_count(each, "empty")
        elif self.known and each.required(self.period):
            severity = Severity.NOTE if each.seldom else Severity.WARNING
            yield from self._found(
                EMPTY_FIELD, name, severity=severity, what=f"`{name}` is", meaning=each.meaning
            )

    def _count(self, each: Field, value: Any) -> Iterator[Finding]:
        count = read_count(value)
        if count.value is None or count.value < each.least:
            yield from self._bad_count(each, repr(short(value)))
        elif count.odd:
            yield from self._found(
                BAD_COUNT,
                each.name,
                severity=Severity.NOTE if int_reads(value) else None,
                field=each.name,
                found=f"{value!r}, {count.odd}",
                least="",
                effect=f"; read as {count.value}",
                digits=count.value,
                fix=BY_FIX,
            )

    def _counts(self, each: Field) -> bool:
        """Whether a fault of the field can reject: at first only the division was read."""
        return self.rules.package.fields_checked or each.kind is FieldKind.DIVISION

    def _bad_count(self, each: Field, found: str) -> Iterator[Finding]:
        """No system size without some counts: the official result summary crashes on them."""
        multiplied = each.name in COUNTS
        weight = Severity.ERROR if multiplied else None
        effect = "; the official result summary cannot be made without it" if multiplied else ""
        yield from self._found(
            BAD_COUNT,
            each.name,
            severity=weight if self._counts(each) else Severity.WARNING,
            field=each.name,
            found=found,
            least=f" of at least {each.least}" if multiplied else "",
            effect=effect,
            digits=each.example,
            fix="",
        )

    def _status(self, value: Any) -> Iterator[Finding]:
        if value in CANONICAL:
            return
        category = category_of(value)
        strict = status_listed(self.rules)
        if category is not None and not strict:
            return
        problem = "not an availability category"
        if strict and category is not None:
            problem = f"the official verifier accepts only the exact spellings {CATEGORIES}"
        meant = category if category in CANONICAL else None
        # In 4.0 a slip in the verifier's condition makes it demand what the policy does not yet.
        policy = category is None or (status_intended(self.rules) and not in_policy_wording(value))
        yield from self._found(
            BAD_STATUS,
            "status",
            _stated_by(strict, policy=policy),
            value=short(value),
            problem=problem,
            spelling=f"; did you mean {meant.value!r}?" if meant else f": one of {CATEGORIES}",
            fix=BY_FIX if meant and strict else "",
        )

    def _division(self, value: Any) -> Iterator[Finding]:
        if value in DIVISIONS:
            return
        meant = read_division(value)
        effect = "; the official tools check less of any other spelling" if meant else ""
        close = [meant] if meant else difflib.get_close_matches(str(value).casefold(), DIVISIONS, 1)
        yield from self._found(
            BAD_DIVISION,
            "division",
            severity=None if close else Severity.ERROR,
            value=short(value),
            effect=effect,
            guess=f"; did you mean {close[0]!r}?" if close else "",
            fix=BY_FIX if meant else "",
        )


def _stated_by(official: bool, *, policy: bool = True) -> StatedBy:
    if official:
        return BOTH if policy else VERIFIER
    return POLICY
