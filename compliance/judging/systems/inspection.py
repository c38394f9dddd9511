"""Findings about the fields of a system description, with the source of each rule.

A requirement of the official verifier is an error, unless the policy contradicts it. A requirement
of the policy alone is a warning (an error in a round without a verifier). A field that the verifier
requires and the policy makes optional is a warning, too. Counts that the official result summary
needs are errors, because it crashes without them; the verifier does not check them.
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
from podium.rules.quirks import QUIRKS

BY_FIX = " (podium fix does it)"
"""The end of the help for a value with one legal spelling."""

POLICY, VERIFIER, BOTH = StatedBy.POLICY, StatedBy.VERIFIER, StatedBy.BOTH


def shown_value(document: Document, key: str | None) -> Any:
    """A field's value as a finding shows it; None if it has none."""
    value = None if key is None else document.fields.get(key)
    return value if isinstance(value, bool | int | float) else short(value)


def _line_of(document: Document, key: str | None) -> int | None:
    return None if key is None else line_of(document, key)


class Inspection:
    """The rules for the fields of one description; `path` is the path that findings show."""

    def __init__(self, document: Document, path: str, rules: Round, profile: Profile) -> None:
        self.document, self.path, self.rules, self.profile = document, path, rules, profile
        self.quirks = QUIRKS[profile]
        self.fields = document.fields
        # Every field that the file names, including those with an unreadable value
        self.named = document.fields if document.text else document.lines
        self.period = period_of(rules)
        self.known = self.period >= TABLE_FROM
        preview = category_of(self.fields.get("status")) is Category.PREVIEW
        # From 2.1 on, a Preview may omit its cores until the processor is public
        self.counts_processors = self.known and not (preview and self.period >= V21)
        # Whether the policy also requires a count of cores or of virtual processors
        lacks_both = not any(name in self.named for name in EITHER)
        self.lacks_both = self.counts_processors and lacks_both

    def findings(self) -> Iterator[Finding]:
        """All findings about the description."""
        document = self.document
        for fault in document.faults:
            yield from self._of_text(fault)
        # The verifier stops at a text that it cannot read, before it looks at any field.
        if not document.is_object or (self.quirks.stops_at_syntax and not document.sound):
            return
        fields, names = self.fields, self.named
        misspelt, optional = misspelt_fields(tuple(names)), may_be_empty(self.period)
        # The verifier looks only for names: a file with only empty values passes it.
        for name, field in FIELDS.items():
            if name in fields:
                value = fields[name]
                if isinstance(value, str) and (is_good(name, value) if value else name in optional):
                    continue
                yield from self._crash(field)
                # The only value that the official verifier checks is the status.
                if not self.quirks.ignores_policy or field.kind is FieldKind.STATUS:
                    yield from self._value(field)
            elif name not in names:
                yield from self._missing(field, misspelt.get(name))
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
        """A finding, unless the profile does not report rules that only that text states.

        In a round without a verifier the policy's requirements are errors. The exception are empty
        values, which reviewers have accepted (rules that do not vary).
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

    def _missing(self, field: Field, misspelling: str | None) -> Iterator[Finding]:
        is_required = self.known and field.required(self.period)
        if misspelling is not None and not self.quirks.ignores_policy:
            stated_by = _stated_by(field.official, policy=is_required or not field.official)
            yield from self._found(
                MISSPELT_FIELD,
                misspelling,
                stated_by,
                severity=None if self._counts(field) else Severity.WARNING,
                written=misspelling,
                field=field.name,
            )
            return
        advice = field.meaning + (f", such as {field.example!r}" if field.example else "")
        if misspelling is not None:
            advice = f"rename `{misspelling}` to it"
        if is_required:
            stated_by = _stated_by(field.official)
            note = field.seldom and stated_by is POLICY
            severity = Severity.NOTE if note else None
            yield from self._absent(field, stated_by, advice, severity=severity)
        elif field.official and not (field.name in EITHER and self.lacks_both):
            status = "optional by the policy" if self.known else "not in this round's policy"
            detail = f": the official verifier rejects the file, although the field is {status}"
            yield from self._absent(field, VERIFIER, f"{advice}; it may be empty", detail)
        # Only advice in 2.0: the submission rules added this requirement days after its deadline
        elif field.recommended(self.period):
            detail = ": required from 2.1 on"
            yield from self._absent(field, POLICY, advice, detail, Severity.NOTE)

    def _absent(
        self,
        field: Field,
        stated_by: StatedBy,
        advice: str,
        detail: str = "",
        severity: Severity | None = None,
    ) -> Iterator[Finding]:
        members: dict[str, Any] = {"field": field.name, "detail": detail, "how": advice}
        for finding in self._found(MISSING_FIELD, field.name, stated_by, severity, **members):
            # The field may come after the syntax error
            yield replace(finding, caused_by=NOT_JSON.id) if self.document.cut else finding

    def _neither(self) -> Iterator[Finding]:
        """According to the policy, either count suffices; a Preview needs neither."""
        if self.lacks_both:
            # The verifier requires both keys, although the policy requires either.
            for name, other in (EITHER, EITHER[::-1]):
                detail = f"; the policy requires it or `{other}`"
                advice = "the official verifier requires both fields"
                yield from self._absent(FIELDS[name], BOTH, advice, detail)
        elif self.counts_processors:
            names = [name for name in EITHER if name in self.named]
            if all(name in self.fields and is_empty(self.fields[name]) for name in names):
                yield from self._found(
                    EMPTY_FIELD,
                    names[0],
                    severity=Severity.WARNING,
                    what=f"both `{EITHER[0]}` and `{EITHER[1]}` are",
                    meaning="cores or the virtual processors",
                )

    # --- values ---

    def _crash(self, field: Field) -> Iterator[Finding]:
        name, value = field.name, self.fields[field.name]
        # The verifier joins these values as strings without checking their type.
        if field.crashes and not isinstance(value, str):
            yield from self._found(VERIFIER_CRASH, name, field=name, kind=kind_of(value))

    def _value(self, field: Field) -> Iterator[Finding]:
        name, value = field.name, self.fields[field.name]
        if field.kind is FieldKind.STATUS and (status_listed(self.rules) or not is_empty(value)):
            yield from self._status(value)
        elif field.kind is FieldKind.DIVISION:
            yield from self._division(value)
        elif is_empty(value):
            yield from self._empty(field)
        elif placeholders := [*places_kept(field, self.fields)]:
            for placeholder in placeholders:
                yield from self._found(placeholder.rule, name, **placeholder.members(field))
        elif field.kind is FieldKind.COUNT:
            yield from self._count(field, value)
        elif field.kind is FieldKind.SYSTEM_TYPE and field.required(self.period):
            if not (isinstance(value, str) and value.strip().casefold() in SYSTEM_TYPES):
                yield from self._found(BAD_SYSTEM_TYPE, name, value=short(value))
        elif isinstance(value, bool if field.kind is FieldKind.ANY else bool | list | dict):
            yield from self._found(BAD_TYPE, name, field=name, kind=kind_of(value))

    def _empty(self, field: Field) -> Iterator[Finding]:
        name = field.name
        if lacks_accelerator(field, self.fields):
            return
        if name in COUNTS:
            yield from self._bad_count(field, "empty")
        elif self.known and field.required(self.period):
            severity = Severity.NOTE if field.seldom else Severity.WARNING
            yield from self._found(
                EMPTY_FIELD, name, severity=severity, what=f"`{name}` is", meaning=field.meaning
            )

    def _count(self, field: Field, value: Any) -> Iterator[Finding]:
        count = read_count(value)
        if count.value is None or count.value < field.least:
            yield from self._bad_count(field, repr(short(value)))
        elif count.odd:
            yield from self._found(
                BAD_COUNT,
                field.name,
                severity=Severity.NOTE if int_reads(value) else None,
                field=field.name,
                found=f"{value!r}, {count.odd}",
                least="",
                effect=f"; read as {count.value}",
                digits=count.value,
                fix=BY_FIX,
            )

    def _counts(self, field: Field) -> bool:
        """Whether an error in the field can reject: early rounds read only the division."""
        return self.rules.package.fields_checked or field.kind is FieldKind.DIVISION

    def _bad_count(self, field: Field, actual: str) -> Iterator[Finding]:
        """Some counts define the system size; the official result summary crashes without them."""
        multiplied = field.name in COUNTS
        weight = Severity.ERROR if multiplied else None
        effect = "; the official result summary cannot be made without it" if multiplied else ""
        yield from self._found(
            BAD_COUNT,
            field.name,
            severity=weight if self._counts(field) else Severity.WARNING,
            field=field.name,
            found=actual,
            least=f" of at least {field.least}" if multiplied else "",
            effect=effect,
            digits=field.example,
            fix="",
        )

    def _status(self, value: Any) -> Iterator[Finding]:
        if value in CANONICAL:
            return
        category = category_of(value)
        is_listed = status_listed(self.rules)
        if category is not None and not is_listed:
            return
        problem = "not an availability category"
        if is_listed and category is not None:
            problem = f"the official verifier accepts only the exact spellings {CATEGORIES}"
        match = category if category in CANONICAL else None
        # In 4.0 a mistake in the verifier's condition makes it stricter than the policy.
        policy = category is None or (status_intended(self.rules) and not in_policy_wording(value))
        yield from self._found(
            BAD_STATUS,
            "status",
            _stated_by(is_listed, policy=policy),
            value=short(value),
            problem=problem,
            spelling=f"; did you mean {match.value!r}?" if match else f": one of {CATEGORIES}",
            fix=BY_FIX if match and is_listed else "",
        )

    def _division(self, value: Any) -> Iterator[Finding]:
        if value in DIVISIONS:
            return
        match = read_division(value)
        effect = "; the official tools check less with any other spelling" if match else ""
        close = [match] if match else difflib.get_close_matches(str(value).casefold(), DIVISIONS, 1)
        yield from self._found(
            BAD_DIVISION,
            "division",
            severity=None if close else Severity.ERROR,
            value=short(value),
            effect=effect,
            guess=f"; did you mean {close[0]!r}?" if close else "",
            fix=BY_FIX if match else "",
        )


def _stated_by(official: bool, *, policy: bool = True) -> StatedBy:
    if official:
        return BOTH if policy else VERIFIER
    return POLICY
