"""Which line of a file is which: LF, CRLF and a bare CR each end one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
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
    """The file lines, from 1, of all that a pattern finds in some bytes; `count` is how many.

    They are counted when they are asked for, each from the start or from the place that was asked
    for before, whichever is nearer. No match may have a bare CR in it.
    """

    __slots__ = ("_at", "_data", "_line", "_pattern", "_places", "_seen", "count")

    def __init__(self, data: bytes, pattern: re.Pattern[bytes], count: int) -> None:
        self.count = count
        self._data = data
        self._pattern = pattern
        self._places = map(_START, pattern.finditer(data))
        self._seen: list[int] = []
        self._at, self._line = 0, 1

    def __getitem__(self, index: int) -> int:
        """The line of the match at `index`, from 0; IndexError beyond the last."""
        place = self._place(index)
        if 2 * place < self._at:  # nearer to the start
            self._at, self._line = 0, 1
        if place >= self._at:
            self._line += self._ends(self._at, place)
        else:
            self._line -= self._ends(place, self._at)
        self._at = place
        return self._line

    def match(self, index: int) -> bytes:
        """What the pattern's group took at `index`, from 0; IndexError beyond the last."""
        found = self._pattern.match(self._data, self._place(index))
        assert found is not None
        return found[1]

    def _place(self, index: int) -> int:
        wanted = index + 1 - len(self._seen)
        if wanted > 0:
            self._seen.extend(islice(self._places, wanted))
        return self._seen[index]

    def _ends(self, start: int, stop: int) -> int:
        """How many lines end between two places."""
        count = self._data.count
        lone = count(b"\r", start, stop)
        if lone:
            lone -= count(b"\r\n", start, stop)
        return count(b"\n", start, stop) + lone

    def __iter__(self) -> Iterator[int]:
        """The line of every match, in order."""
        return (self[index] for index in range(self.count))
