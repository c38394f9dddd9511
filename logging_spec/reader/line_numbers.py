"""Line numbers of a file: LF, CRLF and a bare CR each end a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

_BARE_CR = re.compile(rb"\r(?!\n)")


def unify_line_ends(data: bytes) -> bytes:
    """The same lines, all ended by LF; unchanged if only CRLF and LF end them."""
    # A CR before an LF is whitespace for every decoder; only a bare CR ends a separate line.
    if b"\r" in data and _BARE_CR.search(data):
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data


def count_lines(data: bytes) -> int:
    """The number of lines; the last one may have no line end."""
    data = unify_line_ends(data)
    return data.count(b"\n") + (data != b"" and not data.endswith(b"\n"))


class LineNumbers:
    """The file lines, from 1, of `count` ascending offsets, at most one per line ended by LF.

    Lines are counted only up to the requested record, for most logs a few near the start.
    """

    __slots__ = ("_known", "_rest", "count")

    def __init__(self, data: bytes, offsets: Iterable[int], count: int) -> None:
        self.count = count
        self._known: list[int] = []
        self._rest = _numbers(data, offsets, count)

    def __getitem__(self, index: int) -> int:
        """The line of the offset at `index`, from 0; IndexError beyond the last."""
        missing = index + 1 - len(self._known)
        if missing > 0:
            self._known.extend(islice(self._rest, missing))
        return self._known[index]

    def __iter__(self) -> Iterator[int]:
        """The line of every offset, in order."""
        if self.count:
            self[self.count - 1]
        return iter(self._known)


def _numbers(data: bytes, offsets: Iterable[int], count: int) -> Iterator[int]:
    if data.count(b"\n") + (not data.endswith(b"\n")) == count:  # one on every line
        yield from range(1, count + 1)
        return
    line, previous = 1, 0
    for offset in offsets:
        line += data.count(b"\n", previous, offset)
        previous = offset
        yield line
