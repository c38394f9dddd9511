"""Placeholders at any depth of a field's value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from podium.compliance.judging.systems.fields import Field, FieldKind
from podium.compliance.judging.systems.system_rules import NOT_A_NAME, PLACEHOLDER, UNFILLED
from podium.compliance.judging.systems.values import (
    IDENTITY,
    is_bare_number,
    is_placeholder,
    is_unfilled,
    read_count,
    says_nothing,
    short,
)
from podium.rules.fixed.fixed_rule import FixedRule


class PlaceKept(msgspec.Struct, frozen=True):
    """A placeholder, the rule that it violates, and its field, such as `stack.cuda`."""

    rule: FixedRule
    field: str
    value: Any

    def members(self, field: Field) -> dict[str, Any]:
        """The fields of the rule's messages."""
        value = short(self.value)
        return {
            "field": self.field,
            "value": value,
            "meaning": field.meaning,
            "example": field.example,
        }


def lacks_accelerator(field: Field, fields: Mapping[str, Any]) -> bool:
    """Whether a field is about accelerators, which the system does not have."""
    if not field.name.startswith("accelerator_"):
        return False
    return read_count(fields.get("accelerators_per_node")).value == 0


def places_kept(field: Field, fields: Mapping[str, Any]) -> Iterator[PlaceKept]:
    """The placeholders in a field: its value itself, or the members of an object or a list."""
    value = fields[field.name]
    if isinstance(value, dict | list):
        if field.kind is FieldKind.ANY:
            yield from _inner(field.name, value)
        return
    rule = _rule(field.name, value, is_name=field.kind in (FieldKind.TEXT, FieldKind.ANY))
    # Without accelerators their model has no name
    if rule and not (rule is NOT_A_NAME and lacks_accelerator(field, fields)):
        yield PlaceKept(rule, field.name, value)


def _inner(field: str, value: Any) -> Iterator[PlaceKept]:
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for name, item in items:
        inner = field if name is None else f"{field}.{name}"
        if isinstance(item, dict | list):
            yield from _inner(inner, item)
        elif rule := _rule(str(name), item, is_name=True):
            yield PlaceKept(rule, inner, item)


def _rule(name: str, value: Any, *, is_name: bool) -> FixedRule | None:
    if is_placeholder(name, value) or (name in IDENTITY and says_nothing(value)):
        return PLACEHOLDER
    if is_name and is_unfilled(value):
        return UNFILLED
    return NOT_A_NAME if is_bare_number(name, value) else None
