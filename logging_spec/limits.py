"""Limits of decoded text, checked before a decoder runs, so that no decoder can be exhausted.

They apply to log records, JSON and TOML; code that opens files limits their sizes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

DEEPEST = 128
"""Maximum nesting depth of lists and objects. Rules read three or four levels."""

MOST_DIGITS = 4300
"""Maximum digits of an integer: the default limit of Python, and of the official verifier."""

MOST_PARTS = 64
"""Maximum parts of a dotted TOML key: the time to read a key grows with their square."""

# Text in quotes is not a bracket. A string without a closing quote ends at the end
_JSON = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
_SCALAR = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^\s,}\]]*+', re.DOTALL)
_TOML = re.compile(
    r'"""(?:[^"\\]|\\.|""?(?!"))*+(?:"{3,5})?'
    r"|'''(?:[^']|''?(?!'))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
# A fraction or an exponent may have any length; only integers are limited
_LONG_INTEGER = re.compile(rf"(?<![0-9.eE+-])[+-]?[0-9]{{{MOST_DIGITS + 1},}}(?![0-9.eE])")
# A match never begins inside a run: the time of the search would grow with its square
_LONG_NUMBER = re.compile(rf"(?<![0-9_])[0-9_]{{{MOST_DIGITS + 1}}}")
_LONG_KEY = re.compile(rf"(?<![\w \t.-])[ \t]*+(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


class BeyondLimitError(ValueError):
    """Text that is not decoded; the message names the limit that it exceeds."""


TOO_DEEP = f"values are nested more than {DEEPEST} deep"
TOO_LONG = f"a number has more than {MOST_DIGITS} digits"


def too_deep(text: str | bytes) -> bool:
    """Whether JSON text is nested deeper than the limit; only long text is searched."""
    # Each level has two brackets
    if len(text) <= 2 * DEEPEST:
        return False
    if isinstance(text, str):
        if text.count("[") + text.count("{") <= DEEPEST:
            return False
        text = text.encode("utf-8", "surrogatepass")
    elif text.count(b"[") + text.count(b"{") <= DEEPEST:
        return False
    return _deepest(_without_strings(text)) > DEEPEST


def any_too_deep(texts: list[bytes]) -> bool:
    """Whether one of several texts is nested deeper than the limit."""
    # Each level has two brackets
    candidates = [text for text in texts if len(text) > 2 * DEEPEST]
    # All at once, because every log passes here: leaves the opening brackets of each text
    brackets = b"\n".join(candidates).translate(None, _NO_BRACKETS)
    return max(map(len, brackets.split(b"\n"))) > DEEPEST and any(map(too_deep, candidates))


_NO_BRACKETS = bytes(set(range(256)) - set(b"[{\n"))


def _without_strings(text: bytes) -> bytes:
    """The brackets of JSON text outside of quotes."""
    # Outside of quotes a backslash is an error at which every decoder stops
    marks = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    # Two quotes in a row enclose no bracket, or separate two strings
    return _STRING_OF_BRACKETS.sub(b"", marks.replace(b'""', b""))


_NO_MARKS = bytes(set(range(256)) - set(b'[{]}"'))
_STRING_OF_BRACKETS = re.compile(rb'"[^"]*+"?')


def _deepest(text: bytes) -> int:
    """The highest level of brackets in a text without strings and comments."""
    # Each bracket is one step up or down. Built-in functions add them up without bytecode, because
    # a line of a log may have millions of brackets
    steps = memoryview(text.translate(_STEPS, _NO_STEPS)).cast("b")
    return max(accumulate(steps), default=0)


_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_STEPS = bytes(set(range(256)) - set(b"[{]}"))


def too_long(text: str) -> bool:
    """Whether JSON text has an integer with more digits than the limit, outside of quotes."""
    if len(text) <= MOST_DIGITS or not _LONG_INTEGER.search(text):
        return False
    return bool(_LONG_INTEGER.search(_JSON.sub(" ", text)))


def refuse(text: str | bytes) -> None:
    """Raise BeyondLimitError if JSON text exceeds a limit."""
    if too_deep(text):
        raise BeyondLimitError(TOO_DEEP)
    if too_long(text if isinstance(text, str) else text.decode("latin-1")):
        raise BeyondLimitError(TOO_LONG)


def read_json(text: str | bytes, decode: Callable[[str], Any] = json.loads) -> Any:
    """The value of JSON text; raises ValueError, including its subclass BeyondLimitError.

    `decode` is the decoder, for callers that are stricter than Python.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    refuse(text)
    return decode(text)


def syntax_problem(error: json.JSONDecodeError) -> str:
    """The error message of a decoder, in lower case and without a final "starting at"."""
    text = error.msg.removesuffix(" at").removesuffix(" starting")
    return f"{text[:1].lower()}{text[1:]}"


def value_end(text: str, start: int) -> int:
    """The end of the JSON value at `start`; the end of the text if its brackets are open."""
    if text[start : start + 1] not in ("[", "{"):
        scalar = _SCALAR.match(text, start)
        return scalar.end() if scalar else start
    depth = 0
    for match in _JSON.finditer(text, start):
        bracket = match[0][0]
        if bracket in "[{":
            depth += 1
        elif bracket in "]}":
            depth -= 1
            if not depth:
                return match.end()
    return len(text)


def read_toml(text: str) -> dict[str, Any]:
    """The value of TOML text; raises ValueError, including its subclass BeyondLimitError."""
    import tomllib  # rarely needed

    unquoted = _TOML.sub(_quoted, text) if len(text) > MOST_PARTS else text
    if _deepest(unquoted.encode("utf-8", "surrogatepass")) > DEEPEST:
        raise BeyondLimitError(TOO_DEEP)
    if _LONG_NUMBER.search(unquoted):
        raise BeyondLimitError(TOO_LONG)
    if _LONG_KEY.search(unquoted):
        raise BeyondLimitError(f"a key has more than {MOST_PARTS} parts")
    value = tomllib.loads(text)
    # Dotted keys and table names nest without brackets
    refuse_deep(value)
    return value


def _quoted(match: re.Match[str]) -> str:
    """The replacement of a quoted token in a search for bare numbers and keys."""
    return "q" if match[0][0] in "\"'" else " "


def refuse_deep(value: Any) -> None:
    """Raise BeyondLimitError if a value is nested deeper than the limit."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [member for container in level for member in _members(container)]
        if not level:
            return
    raise BeyondLimitError(TOO_DEEP)


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def shallow(value: Any) -> Any:
    """A value cut at the limit: a list or an object below it is replaced by its text.

    A search for a word in a record still finds it there.
    """
    return _cut(value, DEEPEST)


def _cut(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return _texts(value)
    if isinstance(value, dict):
        return {name: _cut(member, levels - 1) for name, member in value.items()}
    return [_cut(member, levels - 1) for member in value]


def _texts(value: Any) -> str:
    strings: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            strings += item
            stack += item.values()
        elif isinstance(item, list):
            stack += item
        elif isinstance(item, str):
            strings.append(item)
    return " ".join(strings)
