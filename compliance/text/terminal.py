"""Text for a terminal: no raw log content, and no line wider than requested."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Printable according to Unicode but invisible: joiners, fillers, variation selectors
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
# Characters that control a terminal, except tabs and line ends: C0, C1, direction marks
_OBEYED = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)
_WORDS = re.compile(r" *[^ ]+ ?| +")
_PARTS = re.compile(r"[^/]*/|[^/]+")


def clean(text: str) -> str:
    r"""Put text on one line; characters that a terminal obeys or hides become escapes like \x1b.

    Control characters, line ends, direction overrides, zero-width characters, odd spaces and the
    halves of broken characters in file names are escaped; a backslash stays as it is.
    """
    # Nearly every text ends here; the expression is only for text that is not ASCII
    if text.isprintable() and (text.isascii() or not _INVISIBLE.search(text)):
        return text
    return "".join(
        char if char.isprintable() and not _INVISIBLE.match(char) else _escape(char)
        for char in text
    )


def clean_document(text: str) -> str:
    r"""Escape the characters that a terminal obeys in text of many lines.

    Line ends, tabs and invisible characters stay: a file format may need them.
    """
    return _OBEYED.sub(lambda match: _escape(match[0]), text)


def _escape(char: str) -> str:
    code = ord(char)
    if char in "\n\r\t":
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns(text: str) -> int:
    """Count the maximum columns of cleaned text: wide characters have two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


def clip(text: str, width: int) -> str:
    """Cut cleaned text to `width` columns, with an ellipsis at the cut."""
    if columns(text) <= width:
        return text
    text = text[: width - 1]
    while columns(text) > width - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"


def wrap(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Break prose at spaces into lines of at most `width` columns, indented by `first` and `rest`.

    A word that is too long is broken after a slash if it has one, else at the end of the line.
    The indents must leave two columns.
    """
    if columns(first) + columns(text) <= width:
        return [first + text]
    return _fill(_words(text, width - columns(rest)), width, first, rest, trim=True)


def wrap_path(path: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Break a path after slashes into lines of at most `width` columns; no character is lost."""
    if columns(first) + columns(path) <= width:
        return [first + path]
    room = width - columns(rest)
    pieces = (piece for part in _PARTS.findall(path) for piece in _cut(part, room))
    return _fill(pieces, width, first, rest, trim=False)


def _words(text: str, room: int) -> Iterator[str]:
    for word in _WORDS.findall(text):
        if columns(word.rstrip(" ")) <= room:
            yield word
        else:
            for part in _PARTS.findall(word):
                yield from _cut(part, room)


def _cut(text: str, room: int) -> Iterator[str]:
    """Cut text into pieces of at most `room` columns, after a joint near their end if any."""
    if columns(text) <= room:
        yield text
        return
    piece, used = "", 0
    for char in text:
        wide = columns(char)
        if used + wide > room:
            # A joint far from the end would leave a short line
            joint = max(map(piece.rfind, "_-.,")) + 1
            end = joint if joint > len(piece) * 2 // 3 else len(piece)
            yield piece[:end]
            piece = piece[end:]
            used = columns(piece)
        piece += char
        used += wide
    yield piece


def _fill(pieces: Iterable[str], width: int, first: str, rest: str, *, trim: bool) -> list[str]:
    """Fill lines with pieces; `trim` removes the spaces at line ends."""
    lines: list[str] = []
    line, used = first, columns(first)
    for piece in pieces:
        if used + columns(piece.rstrip(" ") if trim else piece) > width:
            lines.append(line.rstrip(" ") if trim else line)
            line, used = rest, columns(rest)
            piece = piece.lstrip(" ") if trim else piece
        line += piece
        used += columns(piece)
    lines.append(line.rstrip(" ") if trim else line)
    return lines
