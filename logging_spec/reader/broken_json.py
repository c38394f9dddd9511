"""Records that are not valid JSON: the cause, and the legible part of the record."""

from __future__ import annotations

import json
import re
from typing import Any

from podium.logging_spec.limits import syntax_problem, too_deep, too_long
from podium.logging_spec.reader.log import Fault, LineFault, text_of

COLOR = re.compile(rb"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b[()][0-9A-Za-z]|\x1b[=>OM78]")
"""An escape sequence of a terminal, such as a color code."""

_QUOTED_RECORD = re.compile(r'\s*\{\s*\\+"')
_STRING = re.compile(r'(?:[^"\\]|\\.)*+', re.DOTALL)
_KEY = re.compile(r"""["']key\\*["']\s*:\s*\\*["'](\w{1,80})""")
_SHOWN = 40

_AMOUNT = rb"[0-9][0-9,]{0,14} (?:more )?(?:lines?|bytes|characters|chars|[kmg]i?b)"
CUT = re.compile(
    rb"(?i)"
    rb"[\[<(]\W{0,8}(?:output |log |logs |file )?truncated\b[^\n]{0,60}[\])>]"
    rb"|(?:\.\.\.|\xe2\x80\xa6)\W{0,8}(?:output |log )?(?:truncated|omitted|skipped)\b"
    rb"|\b(?:output|logs?|log file|job's log)(?: length)? (?:was |has been |is |have been |has )?"
    rb"(?:truncated\b|exceeded (?:the )?(?:\w+ )?(?:limit|maximum))"
    rb"|\b" + _AMOUNT + rb" (?:\w+ )?(?:truncated|omitted|skipped)\b"
    rb"|\b(?:truncated|omitted|skipped) " + _AMOUNT + rb"\b"
    rb"|[<\[-] ?snip ?[>\]-]|-{2,} ?8< ?-{2,}|--More--"
    rb"|\b(?:max(?:imum)? )?output (?:size )?exceed(?:s|ed)\b"
    rb"|\bmax(?:imum)? output size\b"
    rb"|(?m:^\s*\[(?:\.\.\.|\xe2\x80\xa6)\]\s*$)"
)
"""Marks that tools write in place of omitted output."""


def broken_json(
    body: bytes, error: json.JSONDecodeError, position: int
) -> tuple[LineFault, dict[str, Any] | None]:
    """The fault of a line that is not valid JSON, and the intended object, if legible.

    The official reader makes no record of these lines.
    """
    text = text_of(body)
    excerpt = text_of(body[:80])
    key = legible_key(text)

    def fault(kind: Fault, message: str, document: Any = None) -> tuple[LineFault, Any]:
        line = LineFault(kind, message, position, excerpt, document is not None, key)
        return line, document

    if _QUOTED_RECORD.match(text):
        document = _object(_unquoted(text))[0]
        return fault(Fault.QUOTED, "the record is a string inside another JSON object", document)
    cleaned = text_of(COLOR.sub(b"", body)).strip()
    document, tail = _object(cleaned)
    if "\x1b" in text and (document is not None or not cleaned.endswith("}")):
        return fault(Fault.COLORED, "the record contains terminal color codes", document)
    if document is not None and tail:
        if mark := _mark_of_cut(body):
            return fault(Fault.TRUNCATED, mark, document)
        preview = tail if len(tail) <= _SHOWN else f"{tail[:_SHOWN]}..."
        return fault(Fault.TRAILING, f"text follows the record: {preview}", document)
    location = f"{syntax_problem(error)} at character {error.pos + 1}"
    return not_json(body, location, position), None


def not_json(body: bytes, reason: str, position: int) -> LineFault:
    """The fault of a line that is illegible, except perhaps for its key."""
    text, message = text_of(body), f"the record is not valid JSON: {reason}"
    if mark := _mark_of_cut(body):
        return LineFault(Fault.TRUNCATED, mark, position, text[:80], key=legible_key(text))
    truncated = text.startswith("{") and not text.endswith("}")
    if truncated:
        message = f"{message} (the line seems truncated)"
    elif hint := _hint(text):
        message = f"{message} ({hint})"
    return LineFault(
        Fault.JSON, message, position, text_of(body[:80]), key=legible_key(text), cut=truncated
    )


_HINTS = (
    (re.compile(r"^[^\"]*'[^\"]*$"), "strings have single quotes; JSON requires double quotes"),
    (re.compile("\0"), "null bytes: a part of the file was not written"),
    (re.compile(r"&quot;|&#34;"), "double quotes are written as in HTML"),
    (re.compile("[\u201c\u201d]"), "typographic quotes; JSON requires straight double quotes"),
    (
        re.compile(r"[:\[,] *(?:None|True|False)\b"),
        "None, True and False are not JSON",
    ),
    (re.compile(r",\s*[}\]]"), "a comma follows the last value"),
)
"""Patterns in text that is almost JSON, and the cause."""


def _hint(text: str) -> str:
    return next((hint for pattern, hint in _HINTS if pattern.search(text)), "")


def _mark_of_cut(body: bytes) -> str:
    """The fault of a line in which a tool left the mark of a cut; "" for any other line."""
    match = CUT.search(body[: 1 << 16])
    return f"part of the record is omitted: {text_of(match[0])[:_SHOWN]}" if match else ""


def legible_key(text: str) -> str:
    """The key in a line that cannot be read as a whole; "" for none."""
    match = _KEY.search(text[:4096])
    return match[1] if match else ""


def _unquoted(text: str) -> str:
    """The value of a JSON string that the text begins inside of."""
    match = _STRING.match(text)
    try:
        value = json.loads(f'"{match[0] if match else ""}"')
    except ValueError:
        return ""
    return str(value)


def _object(text: str) -> tuple[dict[str, Any] | None, str]:
    """The JSON object at the start of a text, and the rest; None without an object."""
    if too_deep(text) or too_long(text):
        return None, ""
    try:
        value, end = json.JSONDecoder().raw_decode(text.strip())
    except (ValueError, RecursionError):
        return None, ""
    return (value, text.strip()[end:].strip()) if isinstance(value, dict) else (None, "")
