"""Which line of a file is which: LF, CRLF and a bare CR each end one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

_BARE_CR = re.compile(rb"\r(?!\n)")


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
    """The file lines, from 1, of `count` rising places in some bytes.

    They are counted when they are asked for, each from the start or from the place that was asked
    for before, whichever is nearer; nor are the places looked up before.
    """

    __slots__ = ("_at", "_data", "_line", "_places", "_seen", "count")

    def __init__(self, data: bytes, places: Iterator[int], count: int) -> None:
        self.count = count
        self._data = data
        self._places = places
        self._seen: list[int] = []
        self._at, self._line = 0, 1

    def __getitem__(self, index: int) -> int:
        """The line of the place at `index`, from 0; IndexError beyond the last."""
        wanted = index + 1 - len(self._seen)
        if wanted > 0:
            self._seen.extend(islice(self._places, wanted))
        place = self._seen[index]
        if 2 * place < self._at:  # nearer to the start
            self._at, self._line = 0, 1
        if place >= self._at:
            self._line += self._ends(self._at, place)
        else:
            self._line -= self._ends(place, self._at)
        self._at = place
        return self._line

    def _ends(self, start: int, stop: int) -> int:
        """How many lines end between two places."""
        count = self._data.count
        lone = 0
        if self._data.find(b"\r", start, stop) >= 0:  # much quicker than to count none
            lone = count(b"\r", start, stop) - count(b"\r\n", start, stop)
        return count(b"\n", start, stop) + lone

    def __iter__(self) -> Iterator[int]:
        """The line of every place, in order."""
        return (self[index] for index in range(self.count))
