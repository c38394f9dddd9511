"""Which line of a file is which: LF, CRLF and a bare CR each end one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from itertools import count, islice
from operator import methodcaller

_BARE_CR = re.compile(rb"\r(?!\n)")
_START = methodcaller("start")


def has_bare_cr(data: bytes) -> bool:
    """Whether a CR stands anywhere but before an LF."""
    return b"\r" in data and _BARE_CR.search(data) is not None


def unify_line_ends(data: bytes) -> bytes:
    """The same lines, all ended by LF; as it is where only CRLF and LF end them."""
    # A CR before an LF is white space to every decoder; only a bare CR ends a line of its own.
    if has_bare_cr(data):
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


class LineNumbers:
    """The file lines, from 1, of all that a pattern finds in some bytes.

    They are counted when they are asked for, each from the place that was asked for before.
    """

    __slots__ = ("_at", "_data", "_line", "_pattern", "_places", "_seen")

    def __init__(self, data: bytes, pattern: re.Pattern[bytes]) -> None:
        self._data, self._pattern = data, pattern
        self._places: Iterator[int] | None = None
        self._seen: list[int] = []
        self._at, self._line = 0, 1

    def __getitem__(self, index: int) -> int:
        """The line of the match at `index`, from 0; IndexError beyond the last."""
        if self._places is None:
            self._data = unify_line_ends(self._data)
            self._places = map(_START, self._pattern.finditer(self._data))
        wanted = index + 1 - len(self._seen)
        if wanted > 0:
            self._seen.extend(islice(self._places, wanted))
        place = self._seen[index]
        if place >= self._at:
            self._line += self._data.count(b"\n", self._at, place)
        else:
            self._line -= self._data.count(b"\n", place, self._at)
        self._at = place
        return self._line

    def __iter__(self) -> Iterator[int]:
        """The line of every match, in order."""
        with contextlib.suppress(IndexError):
            for index in count():
                yield self[index]
