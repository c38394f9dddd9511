"""Limits of what is decoded, checked before a decoder sees a text, so that none can be exhausted.

They hold for log records, JSON and TOML alike; sizes of files stand with those who open them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

DEEPEST = 128
"""Levels of lists and objects in each other. What is judged goes three or four levels deep."""

MOST_DIGITS = 4300
"""Digits of one integer: Python, and with it the official verifier, reads no more by default."""

MOST_PARTS = 64
"""Names joined by dots in one TOML key: the time to read a key grows with their square."""

# What is in quotes is no bracket. Without its closing quote a text goes on to the end
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
# A fraction or an exponent of any length is read: only integers are not
_LONG_INTEGER = re.compile(rf"(?<![0-9.eE+-])[+-]?[0-9]{{{MOST_DIGITS + 1},}}(?![0-9.eE])")
# Neither begins in the middle of a run: the time to search would grow with its square
_LONG_NUMBER = re.compile(rf"(?<![0-9_])[0-9_]{{{MOST_DIGITS + 1}}}")
_LONG_KEY = re.compile(rf"(?<![\w \t.-])[ \t]*+(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")


class BeyondLimitError(ValueError):
    """A text that is not decoded; the message says which limit it exceeds."""


TOO_DEEP = f"values are nested more than {DEEPEST} deep"
TOO_LONG = f"a number has more than {MOST_DIGITS} digits"


def too_deep(text: str | bytes) -> bool:
    """Whether JSON text goes deeper than the limit; only a long text is looked through."""
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
    """Whether one of several texts goes deeper than the limit."""
    # Each level has two brackets
    long = [text for text in texts if len(text) > 2 * DEEPEST]
    # All at once, because every log passes here: the opening brackets of each text are left
    brackets = b"\n".join(long).translate(None, _NO_BRACKETS)
    return max(map(len, brackets.split(b"\n"))) > DEEPEST and any(map(too_deep, long))


_NO_BRACKETS = bytes(set(range(256)) - set(b"[{\n"))


def _without_strings(text: bytes) -> bytes:
    """The brackets of JSON text that are not within quotes."""
    # Outside of quotes a backslash is an error, at which every decoder ends
    marks = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NO_MARKS)
    # Two quotes in a row enclose no bracket, or separate two strings
    return _STRING_OF_BRACKETS.sub(b"", marks.replace(b'""', b""))


_NO_MARKS = bytes(set(range(256)) - set(b'[{]}"'))
_STRING_OF_BRACKETS = re.compile(rb'"[^"]*+"?')


def _deepest(text: bytes) -> int:
    """The highest level of brackets in a text without strings and comments."""
    # Each bracket is one step up or down. The interpreter adds them up without bytecode, because a
    # line of a log may hold millions of brackets
    steps = memoryview(text.translate(_STEPS, _NO_STEPS)).cast("b")
    return max(accumulate(steps), default=0)


_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_STEPS = bytes(set(range(256)) - set(b"[{]}"))


def too_long(text: str) -> bool:
    """Whether JSON text has an integer of more digits than the limit, outside of quotes."""
    if len(text) <= MOST_DIGITS or not _LONG_INTEGER.search(text):
        return False
    return bool(_LONG_INTEGER.search(_JSON.sub(" ", text)))


def refuse(text: str | bytes) -> None:
    """Raise BeyondLimitError where JSON text exceeds a limit."""
    if too_deep(text):
        raise BeyondLimitError(TOO_DEEP)
    if too_long(text if isinstance(text, str) else text.decode("latin-1")):
        raise BeyondLimitError(TOO_LONG)


def read_json(text: str | bytes, decode: Callable[[str], Any] = json.loads) -> Any:
    """What JSON text holds; raises ValueError, of which BeyondLimitError is one.

    `decode` reads it, for one who is stricter than Python.
    """
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    refuse(text)
    return decode(text)


def syntax_problem(error: json.JSONDecodeError) -> str:
    """What a decoder says is wrong, in lower case; without the "starting at" that some end in."""
    text = error.msg.removesuffix(" at").removesuffix(" starting")
    return f"{text[:1].lower()}{text[1:]}"


def value_end(text: str, start: int) -> int:
    """Where the JSON value at `start` ends; the end of the text where its brackets are open."""
    if text[start : start + 1] not in ("[", "{"):
        found = _SCALAR.match(text, start)
        return found.end() if found else start
    depth = 0
    for match in _JSON.finditer(text, start):
        mark = match[0][0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
            if not depth:
                return match.end()
    return len(text)


def read_toml(text: str) -> dict[str, Any]:
    """What TOML text holds; raises ValueError, of which BeyondLimitError is one."""
    import tomllib  # most calls read none

    bare = _TOML.sub(_quoted, text) if len(text) > MOST_PARTS else text
    if _deepest(bare.encode("utf-8", "surrogatepass")) > DEEPEST:
        raise BeyondLimitError(TOO_DEEP)
    if _LONG_NUMBER.search(bare):
        raise BeyondLimitError(TOO_LONG)
    if _LONG_KEY.search(bare):
        raise BeyondLimitError(f"a key has more than {MOST_PARTS} parts")
    found = tomllib.loads(text)
    # Keys with dots and names of tables nest without a bracket
    refuse_deep(found)
    return found


def _quoted(match: re.Match[str]) -> str:
    """What stands for a token where only bare numbers and keys are looked for."""
    return "q" if match[0][0] in "\"'" else " "


def refuse_deep(value: Any) -> None:
    """Raise BeyondLimitError where a value goes deeper than the limit."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [member for each in level for member in _members(each)]
        if not level:
            return
    raise BeyondLimitError(TOO_DEEP)


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def shallow(value: Any) -> Any:
    """A value cut at the limit: a list or an object below it is the texts that it holds.

    So whoever looks for a word in a record finds it there all the same.
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
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            found += one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            found.append(one)
    return " ".join(found)
