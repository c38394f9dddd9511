"""A description filled from all sources, with a mark in each field that a person must fill."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from podium.compliance.judging.systems.fields import (
    CANONICAL,
    COUNTS,
    EITHER,
    FIELDS,
    SYSTEM_TYPES,
    V21,
    Category,
    Field,
    FieldKind,
    category_of,
    period_of,
    status_listed,
)
from podium.compliance.judging.systems.probe.finding import ProbedFields
from podium.compliance.judging.systems.probe.probe import Probe
from podium.compliance.judging.systems.values import is_empty, read_count, read_division
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import join_limited
from podium.rules.model.round import Round

MARK = "TODO: "
"""The start of a value that a person must still fill in: `podium system check` reports each."""


NODES = "number_of_nodes"


@dataclass(frozen=True, slots=True)
class Value:
    """One field's value and its source."""

    text: str
    source: str


@dataclass(slots=True)
class Draft:
    """An unfinished description: the first source to fill a field wins.

    `differences` lists fields that differ between nodes, and counts that differ between sources.
    """

    rules: Round
    values: dict[str, Value] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    def offer_one(self, name: str, text: str, source: str) -> None:
        """Fill one field if it is empty and the value is valid; otherwise add a note."""
        try:
            value = Value(spelt(FIELDS[name], text, self.rules), source)
        except ValueError as fault:
            self.notes.append(f"{source}: {fault}")
            return
        first = self.values.setdefault(name, value)
        # number_of_nodes differs by design: a probe sees only its own node
        if first.text != value.text and FIELDS[name].kind is FieldKind.COUNT and name != NODES:
            statement = f"{name} is {first.text} according to {first.source}"
            self.differences.append(f"{statement}, and {value.text} according to {source}")

    def missing(self) -> list[Field]:
        """Fields that a person must still fill in, in the description's order."""
        return [field for field in FIELDS.values() if self._needs(field)]

    def _needs(self, field: Field) -> bool:
        if field.name in self.values:
            return False
        if field.name.startswith("accelerator_") and self._count("accelerators_per_node") == 0:
            return False
        if field.name in EITHER:
            # The first of the two is marked: one suffices, and a Preview needs none.
            return field.name == EITHER[0] and not self._spoken()
        # Without these counts the official result summary crashes, even if the policy allows it
        return field.required(period_of(self.rules)) or field.name in COUNTS

    def _spoken(self) -> bool:
        status = self.values.get("status")
        preview = status is not None and category_of(status.text) is Category.PREVIEW
        exempt = preview and period_of(self.rules) >= V21
        return exempt or any(name in self.values for name in EITHER)

    def _count(self, name: str) -> int | None:
        value = self.values.get(name)
        return read_count(value.text).value if value else None

    def to_json(self) -> str:
        """The description: every field as a string, with marks for missing values."""
        marked = {field.name for field in self.missing()}
        # Unknown fields are written empty: the official verifier rejects a file without the name
        fields = {
            name: self.values[name].text
            if name in self.values
            else f"{MARK}{hint(field, self.rules)}"
            if name in marked
            else ""
            for name, field in FIELDS.items()
        }
        return json.dumps(fields, indent=4, ensure_ascii=False) + "\n"


def hint(field: Field, rules: Round) -> str:
    """The hint for a field: its meaning, and an example or the allowed values."""
    if field.kind is FieldKind.STATUS and status_listed(rules):
        return " | ".join(CANONICAL)
    return f"{field.meaning}, such as {field.example}" if field.example else field.meaning


def spelt(field: Field, text: str, rules: Round) -> str:
    """A value in the round's spelling; raises ValueError, with a message, if it is invalid."""
    text = text.strip()
    if is_empty(text):
        raise ValueError(f"{field.name} is empty")
    if field.kind is FieldKind.COUNT:
        count = read_count(text).value
        if count is None or count < field.least:
            expected = f"a whole number of at least {field.least}"
            raise ValueError(f"{field.name} is {text!r}; expected {expected}")
        return str(count)
    if field.kind is FieldKind.DIVISION:
        division = read_division(text)
        if division is None:
            raise ValueError(f"division is {text!r}; expected closed or open")
        return division
    if field.kind is FieldKind.SYSTEM_TYPE:
        if text.casefold() not in SYSTEM_TYPES:
            raise ValueError(f"{field.name} is {text!r}; expected {' or '.join(SYSTEM_TYPES)}")
        return text.casefold()
    return _status(text, rules) if field.kind is FieldKind.STATUS else text


def _status(text: str, rules: Round) -> str:
    category = category_of(text)
    if category in CANONICAL and status_listed(rules):
        return category.value if category else text
    # `available` alone is not a category: a person must add the location
    if category is None or status_listed(rules):
        raise ValueError(f"status is {text!r}; expected one of {' | '.join(CANONICAL)}")
    return text


# --- several nodes ---


def offer_nodes(draft: Draft, probes: Sequence[Probe]) -> None:
    """Fill the fields in which all nodes agree; a person must choose where they differ."""
    names = [probe.host or f"node {number}" for number, probe in enumerate(probes, 1)]
    for probe, name in zip(probes, names, strict=True):
        draft.notes += [f"{name}: {note}" for note in probe.notes]
    for field_name in FIELDS:
        by_value: dict[str, list[str]] = {}
        for probe, name in zip(probes, names, strict=True):
            by_value.setdefault(probe.fields.get(field_name, ""), []).append(name)
        if list(by_value) == [""]:
            continue
        if len(by_value) == 1:
            draft.offer_one(field_name, next(iter(by_value)), "probe")
            continue
        values = (
            f"{value or 'nothing'} ({join_limited(hosts, 3)})" for value, hosts in by_value.items()
        )
        draft.differences.append(f"{field_name}: {', '.join(values)}")
    draft.offer_one(NODES, str(len(probes)), "probe" if len(probes) > 1 else "one node")


def offer_found(draft: Draft, result: ProbedFields, sources: Mapping[str, str] | str) -> None:
    """Fill from one source, which may have a name for each field."""
    draft.notes += result.notes
    for name, text in result.fields.items():
        source = sources if isinstance(sources, str) else sources[name]
        draft.offer_one(name, text, source)


def to_text(draft: Draft, file: str, width: int) -> str:
    """The whole output, with no line wider than `width`."""
    name_width = max(len(name) for name in FIELDS)
    lines = []
    for name, value in ((name, draft.values[name]) for name in FIELDS if name in draft.values):
        text = f"{value.text}  ({value.source})"
        lines += wrap(clean(text), width, f"  {name:{name_width}}  ", " " * 6)
    lines += _section("differences", draft.differences, width)
    lines += _section("note", draft.notes, width)
    missing = draft.missing()
    hints = [f"{field.name}: {hint(field, draft.rules)}" for field in missing]
    lines += _section("still to be filled in", hints, width)
    state = f"{len(missing)} fields are marked TODO" if missing else "every field is filled"
    state = "1 field is marked TODO" if len(missing) == 1 else state
    head = wrap(clean(f"{file}: {draft.rules.title}, {state}"), width)
    last = wrap(clean(f"next: podium system check {file}"), width)
    return "\n".join([*head, *lines, "", *last]) + "\n"


def _section(title: str, items: Iterable[str], width: int) -> list[str]:
    lines = [line for text in items for line in wrap(clean(text), width, "  - ", "    ")]
    return ["", title, *lines] if lines else []
