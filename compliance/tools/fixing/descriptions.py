"""Fix JSON files as text: encoding, final newline, and fields with only one legal spelling.

Only the wrong name or value is replaced: order, indentation and all other fields stay.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from podium.compliance.judging.systems.fields import (
    CANONICAL,
    DIVISIONS,
    FIELDS,
    Field,
    FieldKind,
    category_of,
    misspelt_fields,
    status_listed,
)
from podium.compliance.judging.systems.reader import parse_description
from podium.compliance.judging.systems.values import read_count, read_division
from podium.rules.model.round import Round

_BLANK = re.compile(r"[ \t\n\r]*")


class Member(NamedTuple):
    """A member of the top-level object: its name, and the spans of the name and the value."""

    name: str
    named: tuple[int, int]
    valued: tuple[int, int]


class Edit(NamedTuple):
    """A span of a text to replace, with the reason."""

    span: tuple[int, int]
    text: str
    why: str


def fixed_text(data: bytes) -> tuple[bytes, list[str]]:
    """The bytes of a JSON file as UTF-8 without BOM and with a final newline; and the reasons.

    Bytes that cannot be decoded are returned unchanged.
    """
    reasons: list[str] = []
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError:
            return data, []
        reasons.append("the encoding is UTF-16; expected UTF-8")
    while data.startswith(codecs.BOM_UTF8):
        data = data.removeprefix(codecs.BOM_UTF8)
        reasons = reasons or ["the file starts with a byte order mark"]
    # An empty file stays empty: a single newline would not be JSON either
    if data.strip() and not data.endswith(b"\n"):
        data += b"\r\n" if b"\r\n" in data else b"\n"
        reasons.append("missing newline at end of file")
    return data, reasons


def fixed_description(data: bytes, rules: Round) -> tuple[bytes, list[str]]:
    """Like `fixed_text`, for a system description; also fixes the spelling of its fields."""
    data, reasons = fixed_text(data)
    document = parse_description(data)
    # In invalid JSON, the end of a field is unknown
    if document.faults or not document.text:
        return data, reasons
    text = document.text
    edits = sorted(_edits(text, document.fields, rules), reverse=True)
    for edit in edits:
        start, end = edit.span
        text = text[:start] + edit.text + text[end:]
    return text.encode(), [*reasons, *(edit.why for edit in reversed(edits))]


def _edits(text: str, fields: dict[str, Any], rules: Round) -> Iterator[Edit]:
    corrections = {spelling: field for field, spelling in misspelt_fields(tuple(fields)).items()}
    for name, span, valued in _members(text):
        right = corrections.get(name, name)
        if right != name:
            yield Edit(span, json.dumps(right), f"unknown field {name}; expected {right}")
        field = FIELDS.get(right)
        if field is None:
            continue
        written = text[slice(*valued)]
        spelt = json.dumps(_spelt(field, fields[name], written, rules))
        if spelt not in ("null", written):
            yield Edit(valued, spelt, f"{right} is {written}; expected {spelt}")


def _spelt(field: Field, value: Any, written: str, rules: Round) -> str | None:
    """The only legal spelling of a value; None if the value is legal or its meaning is unclear."""
    if field.kind is FieldKind.STATUS and status_listed(rules):
        category = category_of(value)
        return category.value if category in CANONICAL else None
    if field.kind is FieldKind.DIVISION and value not in DIVISIONS:
        return read_division(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if field.kind is FieldKind.COUNT:
        count = read_count(value)
        if count.value is None or count.value < field.least:
            return None
        # Other counts may be numbers: the official verifier requires strings only for some
        return str(count.value) if count.odd or (number and field.crashes) else None
    return written if number and field.crashes else None


def _members(text: str) -> Iterator[Member]:
    """The members of the object in a valid text, in order."""
    decoder = json.JSONDecoder()
    position = _after(text, _after(text, 0) + 1)
    while text[position] != "}":
        name, end = decoder.raw_decode(text, position)
        start = _after(text, _after(text, end) + 1)  # after the colon
        _, stop = decoder.raw_decode(text, start)
        yield Member(name, (position, end), (start, stop))
        position = _after(text, stop)
        if text[position] == ",":
            position = _after(text, position + 1)


def _after(text: str, position: int) -> int:
    """The position after the blanks that start at a position."""
    match = _BLANK.match(text, position)
    return match.end() if match else position
