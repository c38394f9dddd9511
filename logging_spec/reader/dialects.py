"""Lines of the rounds before 0.7: parsers of the text after the token, and renderers of lines.

The parsers never raise: they return None for text that they do not understand.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec

from podium.logging_spec.limits import read_json, shallow, too_deep, too_long

# The lenient parser works piece by piece in Python, too slow for lines of many megabytes
LONGEST_LENIENT: Final = 1 << 16
"""Values with more characters than this are read as JSON or not at all."""


class Payload(msgspec.Struct, frozen=True):
    """The content of one line after its token.

    `strict` is true only if a reader of the round accepts the line, too: for 0.6 the official
    reader, for 0.5 one that follows the documented layout.
    """

    key: str
    seconds: float
    value: object
    metadata: object
    benchmark: str | None
    strict: bool


_SECONDS = r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_V05 = re.compile(
    rf"([\w.-]+) {_SECONDS} \((.*?):([0-9]{{1,9}})\) ([A-Za-z0-9_]+)\s*(?::(.*))?", re.DOTALL
)
_V06_STRICT = re.compile(rf"{_SECONDS} ([A-Za-z0-9_]+) ?:\s+(.+)", re.DOTALL)
_V06_LENIENT = re.compile(rf"\s*{_SECONDS}\s+([\w.-]+)\s*:(.*)", re.DOTALL)
# A second process may interrupt a line; the text after a comma then belongs to another line.
_ALIBABA = re.compile(
    r"(\w+) \[(\d\d)/(\d\d)/(\d\d) (\d\d):(\d\d):(\d\d)\], *(\w+)\s*(?::(.*)|,.*)?",
    re.ASCII | re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z0-9_]+")


def parse_v05(text: str) -> Payload | None:
    """Parse the text after `:::MLPv0.5.0 `: benchmark, seconds, call site, key and perhaps a value.

    A deferred value stays a string (`DEFERRED: <id>`; a later line with the same id has the value),
    and so does a value that is neither JSON nor a Python literal.
    """
    match = _V05.fullmatch(text.strip())
    if match is None:
        return None
    benchmark, time, file, lineno, key, value_text = match.groups()
    seconds = float(time)
    if math.isinf(seconds):
        return None
    value, strict = _value(value_text)
    # Deferred values belong to the documented layout, although they are not JSON
    strict = strict or str(value).startswith("DEFERRED: ")
    return Payload(key, seconds, value, {"file": file, "lineno": int(lineno)}, benchmark, strict)


def parse_v06(text: str) -> Payload | None:
    """Parse the text after `:::MLL `: seconds, key and an object of value and metadata.

    The object is JSON, a Python literal, a mixture of both, or has words without quotes: all four
    occur in published logs, and the official reader accepts only the first.
    """
    match = _V06_STRICT.fullmatch(text)
    in_layout = match is not None
    match = match or _V06_LENIENT.fullmatch(text)
    if match is None:
        return None
    time, key, body_text = match.groups()
    seconds = float(time)
    body, is_json = _value(body_text)
    if math.isinf(seconds) or not isinstance(body, dict):
        return None
    if "value" not in body and "metadata" not in body:
        return None
    strict = in_layout and is_json and "value" in body
    return Payload(key, seconds, body.get("value"), body.get("metadata"), None, strict)


def ignored_v06(text: str) -> bool:
    """Whether the official 0.6 reader accepts the line after `:::MLL ` but makes no record of it.

    It does so for JSON that is not an object or has no value.
    """
    match = _V06_STRICT.fullmatch(text)
    if match is None:
        return False
    body, is_json = _value(match[3])
    return is_json and not (isinstance(body, dict) and "value" in body)


@lru_cache(maxsize=1024)
def parse_alibaba(text: str) -> Payload | None:
    """Parse a line such as `MLPerf: resnet [06/13/19 00:55:21], key: value`, with or without token.

    The local time is read as UTC, so only differences are meaningful. `75.98%` is read as 0.7598.
    Every process of a run writes the same lines; each line is read once.
    """
    match = _ALIBABA.fullmatch(text.rpartition("MLPerf: ")[2].strip())
    if match is None:
        return None
    benchmark, month, day, year, hour, minute, second, key, value_text = match.groups()
    try:
        moment = datetime(
            2000 + int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC
        )
    except ValueError:
        return None
    return Payload(key, moment.timestamp(), _value(value_text)[0], {}, benchmark, False)


def render_v05(
    benchmark: str, seconds: float, file: str, lineno: int, key: str, value: object
) -> str:
    """Format the 0.5 line that `parse_v05` reads back; ValueError for values that do not fit."""
    if not re.fullmatch(r"[\w.-]+", benchmark):
        raise ValueError(f"benchmark is {benchmark!r}; must be one word")
    if not file.isprintable() or lineno < 0:
        raise ValueError(f"call site is {file!r}, line {lineno}; must fit on one line")
    prefix = f":::MLPv0.5.0 {benchmark} {_time(seconds)} ({file}:{lineno}) {_key(key)}"
    return prefix if value is None else f"{prefix}: {json.dumps(value, allow_nan=False)}"


def render_v06(seconds: float, key: str, value: object, metadata: dict[str, object]) -> str:
    """Format the 0.6 line that `parse_v06` reads back; ValueError for values that do not fit."""
    body = json.dumps({"value": value, "metadata": metadata}, allow_nan=False)
    return f":::MLL {_time(seconds)} {_key(key)}: {body}"


def _time(seconds: float) -> str:
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"time is {seconds}; must be a number of seconds from 0 on")
    return f"{seconds:.9f}"


def _key(key: str) -> str:
    if not _NAME.fullmatch(key):
        raise ValueError(f"key is {key!r}; must be letters, digits and underscores")
    return key


_BEGINS_JSON = frozenset('{["-0123456789tfnNI')
"""First characters of JSON values, including NaN and Infinity."""


def _value(text: str | None) -> tuple[object, bool]:
    """Read a value, and whether it is JSON or absent; any other text stays a string."""
    text = (text or "").strip()
    if not text:
        return None, True
    if too_deep(text):
        return _deep_value(text)
    # The fast decoder refuses Python's extensions of JSON, such as NaN.
    quick = text[0] in _BEGINS_JSON and not too_long(text)
    for decode in (msgspec.json.decode, json.loads) if quick else ():
        with contextlib.suppress(ValueError):
            return decode(text), True
    try:
        return _read_loosely(text), False
    except ValueError:
        return text, False


def _deep_value(text: str) -> tuple[object, bool]:
    """A value beyond the limit as in the official reader, and cut at the limit."""
    if not too_long(text):
        # Python's parser also has a limit, at which the official reader crashes
        with contextlib.suppress(ValueError, RecursionError):
            return shallow(json.loads(text)), True
    return text, False


# Python's literal parser accepts neither `true` nor bare words, so the tokens of such text are
# translated to JSON one by one. This is linear, and the JSON decoder checks the result.
_PIECE = re.compile(
    r"""\s+
    | [uU]?(?P<string>"[^"\\]*(?:\\.[^"\\]*)*" | '[^'\\]*(?:\\.[^'\\]*)*')
    | (?P<mark>[{}\[\](),:])
    | (?P<word>[^\s{}\[\](),:"']+(?:[ \t]+[^\s{}\[\](),:"']+)*)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
# Numbers that JSON refuses, such as .5, 1. and +7
_OTHER_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PERCENT = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?%")
_WORDS = {
    "True": "true",
    "False": "false",
    "None": "null",
    "nan": "NaN",
    "inf": "Infinity",
    "-inf": "-Infinity",
}
_AS_THEY_ARE = frozenset({"true", "false", "null", "NaN", "Infinity", "-Infinity"})
_BRACKETS = {"(": "[", ")": "]"}
_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(')|(\")|\\U([0-9A-Fa-f]{8})|\\.", re.DOTALL)


# Not strict: control characters in a string are not a reason to lose a record
_decode_lax = json.JSONDecoder(strict=False).decode


def _read_loosely(text: str) -> object:
    """Read a Python literal, or an object with unquoted words; ValueError for other text."""
    if len(text) > LONGEST_LENIENT:
        raise ValueError("too long to be read leniently")
    fragments: list[str] = []
    end = 0
    while end < len(text):
        match = _PIECE.match(text, end)
        if match is None:
            raise ValueError("neither a literal nor an object")
        end = match.end()
        kind = match.lastgroup
        if kind is None:  # whitespace
            continue
        fragment = match[kind]
        if kind == "string":
            fragment = _json_string(fragment)
        elif kind == "word":
            fragment = _json_word(fragment)
        else:
            # Python allows a comma before a closing bracket, JSON does not
            if fragment in ")]}" and fragments and fragments[-1] == ",":
                fragments.pop()
            fragment = _BRACKETS.get(fragment, fragment)
        fragments.append(fragment)
    value: object = read_json("".join(fragments), _decode_lax)
    return value


def _json_string(quoted: str) -> str:
    return '"' + _ESCAPE.sub(_json_escape, quoted[1:-1]) + '"'


def _json_escape(match: re.Match[str]) -> str:
    if match[1]:
        return rf"\u00{match[1]}"
    if match[2]:
        return "'"
    if match[4]:
        return json.dumps(chr(int(match[4], 16)))[1:-1]
    return r"\"" if match[3] else match[0]


def _json_word(word: str) -> str:
    if word in _AS_THEY_ARE or _NUMBER.fullmatch(word):
        return word
    if word in _WORDS:
        return _WORDS[word]
    if _PERCENT.fullmatch(word):
        # An exponent keeps the digits exact; a division by 100 may not.
        return repr(float(f"{word[:-1]}e-2"))
    if _OTHER_NUMBER.fullmatch(word):
        return repr(float(word))
    return json.dumps(word)
