"""The JSON Schema of a round's system descriptions; policy and verifier accept what matches it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from podium.compliance.judging.systems.fields import (
    CANONICAL,
    COUNTS,
    EITHER,
    FIELDS,
    SYSTEM_TYPES,
    TABLE_FROM,
    V21,
    Category,
    Field,
    FieldKind,
    period_of,
    status_listed,
)
from podium.rules.catalogue import find_round
from podium.rules.model.round import Round

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_SAYS: Schema = {"pattern": r"[^\s-]"}
_EMPTY: Schema = {"enum": [None, [], {}]}
# A pattern cannot compare numbers, so the limit of a count is nine digits
_DIGITS = r"^\d{1,9}$"


def system_schema(rules: Round) -> Schema:
    """The schema (draft 2020-12) of a round: required fields, types, spellings; any other keys.

    It requires the keys that the policy or the official verifier requires, with a meaningful value
    if the policy requires one. Only `podium system check` finds placeholders and misspelled names.
    """
    period = period_of(rules)
    tabled = period >= TABLE_FROM
    fields = [field for field in FIELDS.values() if tabled or field.official]
    schema: Schema = {
        "$schema": DIALECT,
        "$id": f"urn:podium:system-description:{rules.usage}:{rules.name}",
        "title": f"System description, {rules.title}",
        "type": "object",
        # The verifier also rejects a file if a key is missing that the policy makes optional
        "required": [
            f.name for f in fields if f.required(period) or (f.official and rules.verified)
        ],
        "properties": {f.name: _property(f, rules, tabled and f.required(period)) for f in fields},
    }
    if tabled:
        schema["allOf"] = _together(rules)
    return schema


def _property(field: Field, rules: Round, required: bool) -> Schema:
    schema: Schema = {"description": field.meaning}
    if field.example:
        schema["examples"] = [field.example]
    if field.kind is FieldKind.STATUS:
        return schema | _status(rules, required)
    if field.kind is FieldKind.DIVISION and required:
        return schema | {"enum": ["closed", "open"]}
    if field.kind is FieldKind.SYSTEM_TYPE and required:
        return schema | {"enum": [*SYSTEM_TYPES]}
    if field.kind is FieldKind.COUNT:
        return schema | _count(field, rules)
    if field.crashes and rules.verified:
        schema["type"] = "string"
    elif field.kind is not FieldKind.ANY:
        schema["type"] = ["string", "number"]
        if not required:
            schema |= {"type": ["string", "number", "null", "array", "object"]}
            # An empty list or object means no value, which an optional field may have
            schema |= {"maxItems": 0, "maxProperties": 0}
    elif required:
        schema |= {"type": ["string", "object", "array", "number"], "minProperties": 1}
        schema["minItems"] = 1
    # Accelerator fields may be empty if accelerators_per_node is 0: see `_together`
    if required and not field.name.startswith("accelerator_"):
        schema |= _SAYS
    return schema


def _status(rules: Round, required: bool) -> Schema:
    if status_listed(rules):
        return {"enum": [category.value for category in CANONICAL]}
    return {"type": "string"} | _SAYS if required else {"anyOf": [{"type": "string"}, _EMPTY]}


def _count(field: Field, rules: Round) -> Schema:
    """A count: a string of digits, or an integer if the official verifier accepts one."""
    main = field.name in COUNTS
    digits = r"^0*[1-9]\d{0,8}$" if field.least else _DIGITS
    text: Schema = {"type": "string", "pattern": digits if main else r"^(\d{1,9}|[\s-]*)$"}
    if field.crashes and rules.verified:
        return text
    number: Schema = {"type": "integer", "minimum": field.least}
    return {"anyOf": [text, number, *([] if main else [_EMPTY])]}


def _together(rules: Round) -> list[Schema]:
    """Requirements that depend on another field's value."""
    period = period_of(rules)
    accelerators = [
        field.name
        for field in FIELDS.values()
        if field.name.startswith("accelerator_") and field.required(period)
    ]
    no_accelerators: Schema = {"properties": {"accelerators_per_node": {"enum": ["0", 0]}}}
    says = {"properties": dict.fromkeys(accelerators, _SAYS)}
    spoken: Schema = {"anyOf": [{"properties": {name: _SPOKEN}} for name in EITHER]}
    # From 2.1 on, a Preview may omit its cores until the processor is public
    if period >= V21:
        preview = {"properties": {"status": _preview(rules)}, "required": ["status"]}
        spoken = {"if": preview, "else": spoken}
    return [{"if": no_accelerators, "else": says}, spoken]


_SPOKEN: Schema = {"type": ["string", "integer"], **_SAYS}


def _preview(rules: Round) -> Schema:
    if status_listed(rules):
        return {"const": Category.PREVIEW.value}
    # A pattern has no flag to ignore case, and `category_of` ignores case and punctuation
    return {"pattern": "^[\\s\\W_]*[Pp][Rr][Ee][Vv][Ii][Ee][Ww][\\s\\W_]*$"}


def unfit(fields: Mapping[str, Any], rules: Round) -> list[tuple[str | None, str]]:
    """(field, violated keyword of the schema) of fields that do not match; None for several."""
    errors = sorted(_validator(rules.usage, rules.name).iter_errors(fields), key=_place)
    return [(_place(error) or None, str(error.validator)) for error in errors]


def _place(error: Any) -> str:
    return str(error.absolute_path[0]) if error.absolute_path else ""


@cache
def _validator(usage: str, name: str) -> Any:
    # Only a description without findings gets here: others need not wait for the library.
    return Draft202012Validator(system_schema(find_round(usage, name)))
