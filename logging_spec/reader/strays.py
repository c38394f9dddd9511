"""Lines outside of records that explain missing records: lines without a token, and cuts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from podium.logging_spec.reader.broken_json import COLOR, CUT, legible_key
from podium.logging_spec.reader.log import Fault, LineFault, text_of
from podium.logging_spec.reader.words import finder

_NAME = b"MLLOG"
_TOKEN = b":::MLLOG "
_LOST_TOKEN = re.compile(rb"(?m)^[^\n]*?MLLOG(?:\x1b\[[0-9;]*[A-Za-z])*[^\w\n{]{0,4}(\{[^\n]*)")
_BARE = re.compile(rb"(?m)^[^\n{]{0,80}(\{[^\n]*\"time_ms\"[^\n]*)")
_MEMBERS = re.compile(rb"""["']key\\*["']\s*:""")

_HINTS = (
    b"runcated",
    b"RUNCATED",
    b"mitted",
    b"xceed",
    b"kipped",
    b"snip",
    b"--More--",
    b"8<",
    b"[...]",
    b"[\xe2\x80\xa6]",
)
"""Text in every mark of a cut: searching for it first is fast."""
_find = finder(_HINTS)
_LONGEST_HINT = max(map(len, _HINTS))
_AT_ONCE = 1 << 18
"""Bytes that are searched at once: a hostile log may consist of hints."""

_LONGEST_MARK = 300
"""Maximum bytes of a line that only marks a cut: a longer line is output."""


def strays(data: bytes, records: int, line: int) -> Iterator[LineFault]:
    """The faults of lines without a record; `line` is the number of the first one.

    `records` is the number of lines with a token. The data has only LF line ends.
    """
    if data.count(_NAME) > records:
        yield from _without_token(_LOST_TOKEN, data, line)
    elif not records and b'"time_ms"' in data:
        yield from _without_token(_BARE, data, line)
    yield from _marks_of_cuts(data, line)


def _without_token(pattern: re.Pattern[bytes], data: bytes, line: int) -> Iterator[LineFault]:
    position, number = 0, line
    for match in pattern.finditer(data):
        matched = match[0]
        if _TOKEN in matched or not _MEMBERS.search(match[1]):
            continue
        number += data.count(b"\n", position, match.start())
        position = match.start()
        kind, message = Fault.UNMARKED, "the record is not preceded by `:::MLLOG `"
        if COLOR.search(matched[: matched.index(b"{")]):
            kind, message = Fault.COLORED, "the record contains terminal color codes"
        yield LineFault(
            kind,
            message,
            -1,
            text_of(COLOR.sub(b"", matched)[:80]),
            key=legible_key(text_of(match[1])),
            line=number,
        )


def _marks_of_cuts(data: bytes, line: int) -> Iterator[LineFault]:
    for start in _lines_with_hints(data):
        end = data.find(b"\n", start)
        content = data[start : end if end >= 0 else len(data)].strip()
        if len(content) <= _LONGEST_MARK and _NAME not in content and CUT.search(content):
            number = line + data.count(b"\n", 0, start)
            excerpt = text_of(content)[:80]
            message = f"this line marks a cut: {excerpt}"
            yield LineFault(Fault.MARKED_CUT, message, -1, excerpt, line=number)


def _lines_with_hints(data: bytes) -> Iterator[int]:
    """The start of each line that contains a hint."""
    view, end = memoryview(data), -1
    for begin in range(0, len(data), _AT_ONCE):
        for _, found, _ in _find(view[begin : begin + _AT_ONCE + _LONGEST_HINT]):
            if (position := begin + found) <= end:
                continue  # in the same line
            yield data.rfind(b"\n", 0, position) + 1
            end = data.find(b"\n", position)
            if end < 0:
                return
