"""What can be wrong with the fields of a system description, and which text says so."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from podium.compliance.systems.document import Document
from podium.compliance.systems.fields import (
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
    Kind,
    Period,
    category_of,
    letters,
    period_of,
    status_intended,
    status_listed,
)
from podium.compliance.systems.values import (
    is_empty,
    is_placeholder,
    read_count,
    read_division,
    says_nothing,
)
from podium.rules.finding import Severity
from podium.rules.round import Round

_IDENTITY = ("submitter", "system_name", "framework", "operating_system")
"""Where `N/A` cannot be the answer."""


class Fault(msgspec.Struct, frozen=True):
    """A fault before a profile weighs it: which text makes it one."""

    id: str
    key: str | None
    message: str
    hint: str = ""
    expected: str = ""
    line: int | None = None
    official: bool = False
    policy: bool = True
    severity: Severity | None = None


def faults_of(document: Document, rules: Round, *, verifier: bool) -> Iterator[Fault]:
    """Everything wrong with a description; `verifier` words it as the official verifier sees it."""
    yield from _Inspection(document, rules, verifier=verifier).faults()


class _Inspection:
    def __init__(self, document: Document, rules: Round, *, verifier: bool) -> None:
        self.document, self.rules, self.verifier = document, rules, verifier
        self.fields = document.fields
        self.period = period_of(rules)
        self.known = self.period >= TABLE_FROM
        preview = category_of(self.fields.get("status")) is Category.PREVIEW
        self.exempt = preview and self.period >= V21

    def faults(self) -> Iterator[Fault]:
        document = self.document
        for text in document.faults:
            yield Fault(text.id, text.key, text.message, text.hint, "", text.line, text.official)
        # The verifier ends before it looks at a field of a text that it cannot read.
        if not document.is_object or (self.verifier and not document.sound):
            return
        fields, named = self.fields, document.named
        misspelt, may_be_empty = _misspelt(tuple(named)), _may_be_empty(self.period)
        for name, each in FIELDS.items():
            if name in fields:
                value = fields[name]
                if isinstance(value, str) and (
                    _is_good(name, value) if value else name in may_be_empty
                ):
                    continue
                yield from self._crash(each)
                # Of values the official verifier demands only those of the status.
                if not self.verifier or each.kind is Kind.STATUS:
                    yield from self._value(each)
            elif name not in named:
                yield from self._missing(each, misspelt.get(name))
        yield from self._neither()

    def _missing(self, each: Field, instead: str | None) -> Iterator[Fault]:
        demanded = self.known and each.required(self.period)
        if instead is not None and not self.verifier:
            said = f"`{instead}` is no field: did you mean `{each.name}`?"
            hint = f"rename it to `{each.name}`"
            policy = demanded or not each.official
            yield Fault(
                "system.misspelt-field", instead, said, hint, "", None, each.official, policy
            )
            return
        hint = f"add it: {each.meaning}" + (f", such as {each.example!r}" if each.example else "")
        if instead is not None:
            hint = f"rename `{instead}`"
        said, missing = f"the field `{each.name}` is missing", "system.missing-field"
        if demanded:
            yield Fault(missing, each.name, said, hint, official=each.official)
        elif each.official and not (each.name in EITHER and self._neither_given()):
            why = "optional by the policy" if self.known else "not in this round's policy"
            said += f": the official verifier rejects the file, though the field is {why}"
            hint += "; it may be empty"
            yield Fault(missing, each.name, said, hint, official=True, policy=False)
        elif each.recommended(self.period):
            said += ": required from 2.1 on"
            yield Fault(missing, each.name, said, hint, severity=Severity.NOTE)

    def _neither_given(self) -> bool:
        """Whether the policy, too, misses the count of cores and of virtual processors."""
        absent = not any(name in self.document.named for name in EITHER)
        return self.known and not self.exempt and absent

    def _neither(self) -> Iterator[Fault]:
        """Either count of cores suffices by the policy; neither is needed for a Preview."""
        if self._neither_given():
            for name, other in (EITHER, EITHER[::-1]):
                said = f"the field `{name}` is missing; the policy wants it or `{other}`"
                yield Fault("system.missing-field", name, said, "add both fields", official=True)
        elif self.known and not self.exempt:
            given = [name for name in EITHER if name in self.document.named]
            if all(name in self.fields and is_empty(self.fields[name]) for name in given):
                said = f"neither `{EITHER[0]}` nor `{EITHER[1]}` says anything"
                yield self._silent("system.empty-field", given[0], said, "fill in one of the two")

    def _silent(self, rule: str, key: str, said: str, hint: str, expected: str = "") -> Fault:
        """A value that tells nothing: reviewers have let it pass, even without a verifier."""
        return Fault(rule, key, said, hint, expected, severity=Severity.WARNING)

    def _crash(self, each: Field) -> Iterator[Fault]:
        value = self.fields[each.name]
        if each.crashes and not isinstance(value, str):
            said = f"`{each.name}` is {_kind(value)}: the official verifier ends in a traceback"
            hint = "write it as a string, in double quotes"
            yield Fault(
                "system.verifier-crash", each.name, said, hint, "a string", None, True, False
            )

    def _value(self, each: Field) -> Iterator[Fault]:
        value = self.fields[each.name]
        if each.kind is Kind.STATUS and (status_listed(self.rules) or not is_empty(value)):
            yield from self._status(value)
        elif is_empty(value):
            yield from self._empty(each)
        elif is_placeholder(each.name, value) or (each.name in _IDENTITY and says_nothing(value)):
            said = f"`{each.name}` still holds a placeholder, {short(value)!r}"
            yield self._silent("system.placeholder", each.name, said, f"fill in the {each.meaning}")
        elif each.kind is Kind.COUNT:
            yield from self._count(each, value)
        elif each.kind is Kind.DIVISION:
            yield from self._division(value)
        elif each.kind is Kind.SYSTEM_TYPE and each.required(self.period):
            yield from self._system_type(value)
        elif isinstance(value, bool if each.kind is Kind.ANY else bool | list | dict):
            said = f"`{each.name}` is {_kind(value)}: text is expected"
            yield Fault("system.bad-type", each.name, said, "write it as a string", "a string")

    def _system_type(self, value: Any) -> Iterator[Fault]:
        if not (isinstance(value, str) and value.strip().casefold() in SYSTEM_TYPES):
            wanted = " or ".join(SYSTEM_TYPES)
            said = f"`system_type` is {short(value)!r}: must be {wanted}"
            hint = f"write {SYSTEM_TYPES[0]} for a training system"
            yield self._silent("system.bad-system-type", "system_type", said, hint, wanted)

    def _empty(self, each: Field) -> Iterator[Fault]:
        no_accelerator = read_count(self.fields.get("accelerators_per_node")).value == 0
        if each.name.startswith("accelerator_") and no_accelerator:
            return
        said = f"`{each.name}` is empty: a meaningful value is required"
        hint = f"fill in the {each.meaning}"
        if each.name in COUNTS:
            yield self._unusable(each, said, hint)
        elif self.known and each.required(self.period):
            yield self._silent("system.empty-field", each.name, said, hint)

    def _unusable(self, each: Field, said: str, hint: str) -> Fault:
        """No system size without this count: the official result summary ends on it."""
        rule = "system.bad-count"
        said += "; the official result summary cannot be made without it"
        expected = f"a whole number, {each.least} or more"
        return Fault(rule, each.name, said, hint, expected, severity=Severity.ERROR)

    def _count(self, each: Field, value: Any) -> Iterator[Fault]:
        count = read_count(value)
        main = each.name in COUNTS
        if count.value is None or count.value < (each.least if main else 0):
            said = f"`{each.name}` is {short(value)!r}: must be a whole number"
            said += f" of at least {each.least}" if main else ""
            hint = f'write digits alone, such as "{each.example}"'
            if main:
                yield self._unusable(each, said, hint)
            else:
                yield Fault("system.bad-count", each.name, said, hint, "a whole number")
        elif count.odd:
            said = f"`{each.name}` is {value!r}, {count.odd}; read as {count.value}"
            hint = f'write "{count.value}"'
            yield Fault("system.bad-count", each.name, said, hint, "a whole number")

    def _status(self, value: Any) -> Iterator[Fault]:
        if value in CANONICAL:
            return
        listed = " | ".join(CANONICAL)
        category = category_of(value)
        strict = status_listed(self.rules)
        if category is not None and not strict:
            return
        said = f"`status` is {short(value)!r}: "
        if strict and category is not None:
            said += "the official verifier accepts only the exact spellings"
        else:
            said += "no availability category"
        wanted = category if category in CANONICAL else None
        hint = f"did you mean {wanted.value!r}?" if wanted else f"write one of {listed}"
        policy = category is None or status_intended(self.rules)
        yield Fault("system.bad-status", "status", said, hint, listed, None, strict, policy)

    def _division(self, value: Any) -> Iterator[Fault]:
        if value in DIVISIONS:
            return
        division = read_division(value)
        said = f"`division` is {short(value)!r}: "
        if division is not None:
            said += f"the official tools know only {division!r}, and check less of any other"
            hint = f"write {division!r}"
        else:
            said += "must be closed or open"
            close = difflib.get_close_matches(str(value).casefold(), DIVISIONS, 1)
            hint = f"did you mean {close[0]!r}?" if close else "write closed or open"
        yield Fault("system.bad-division", "division", said, hint, "closed or open")


@lru_cache(maxsize=1024)
def _misspelt(named: tuple[str, ...]) -> dict[str, str]:
    """Fields that are not named, with the unknown name that is most like each.

    The descriptions of one submitter mostly name the same.
    """
    absent = {letters(name): name for name in FIELDS if name not in named}
    found = {}
    for key in named:
        if key in FIELDS:
            continue
        close = difflib.get_close_matches(letters(key), absent, 1, 0.88)
        if close:
            found[absent.pop(close[0])] = key
    return found


@lru_cache(maxsize=64)
def _may_be_empty(period: Period) -> frozenset[str]:
    """Fields whose text may be empty, as much of a description is."""
    demanded = {each.name for each in FIELDS.values() if each.required(period)}
    return frozenset(FIELDS) - (demanded if period >= TABLE_FROM else set()) - {*COUNTS, "status"}


@lru_cache(maxsize=4096)
def _is_good(name: str, text: str) -> bool:
    """Whether a field's text is good in every round, as nearly all are."""
    each = FIELDS[name]
    if is_empty(text) or is_placeholder(name, text):
        return False
    if each.kind is Kind.COUNT:
        count = read_count(text)
        least = each.least if name in COUNTS else 0
        return count.value is not None and count.value >= least and not count.odd
    if each.kind is Kind.STATUS:
        return text in CANONICAL
    if each.kind is Kind.DIVISION:
        return text in DIVISIONS
    if each.kind is Kind.SYSTEM_TYPE:
        return text in SYSTEM_TYPES
    return not (name in _IDENTITY and says_nothing(text))


def short(value: Any) -> Any:
    """A value fit for a message."""
    if value is None or (isinstance(value, str) and len(value) <= 80):
        return value
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "an object", list: "a list", type(None): "null", str: "text"}
    return names.get(type(value), f"the number {value}")
