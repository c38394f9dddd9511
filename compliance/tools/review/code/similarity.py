"""The share of one file that is in another, by lines; names do not matter."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from zlib import crc32

from podium.compliance.tools.review.code.inventory import read_text

SKETCH = 32
"""Lines that represent a file: those with the smallest hashes, which similar files share."""

MOST_HOLDERS = 64
"""Maximum number of files that share a line; a more frequent line is not evidence."""

MOST_LINES = 10_000
"""Maximum number of lines of a file that stay in memory while others are compared with it."""

LEAST_KEPT = 0.5
"""Minimum share of its lines that a file must have in common with its base."""


class Sketches:
    """Files by the lines that represent them."""

    def __init__(self) -> None:
        self._holders: dict[int, list[int]] = defaultdict(list)

    def add(self, number: int, path: Path) -> None:
        """Keep the sketch of a file under a number."""
        for line in _sketch(lines_of(path)):
            holders = self._holders[line]
            if len(holders) < MOST_HOLDERS:
                holders.append(number)

    def nearest(self, path: Path, most: int) -> list[int]:
        """The numbers of the files that share most lines with a file, the best first."""
        counts = Counter(
            number for line in _sketch(lines_of(path)) for number in self._holders.get(line, ())
        )
        return [number for number, _ in counts.most_common(most)]


def _sketch(lines: Counter[int]) -> list[int]:
    return heapq.nsmallest(SKETCH, lines)


def lines_of(path: Path) -> Counter[int]:
    """The lines of a text file, as hashes; empty if it is not compared."""
    lines = _kept_lines(path)
    return _counted(read_text(path) or b"") if lines is None else lines


@lru_cache(maxsize=64)
def _kept_lines(path: Path) -> Counter[int] | None:
    """The lines of a file of usual length; None for a longer one, which would fill memory."""
    data = read_text(path) or b""
    return _counted(data) if data.count(b"\n") <= MOST_LINES else None


def _counted(data: bytes) -> Counter[int]:
    stripped: Iterable[bytes] = map(bytes.strip, data.split(b"\n"))
    return Counter(crc32(line) for line in stripped if line)


def kept(first: Path, second: Path) -> float:
    """The share of the longer file's lines that both files have."""
    a, b = lines_of(first), lines_of(second)
    longer = max(a.total(), b.total())
    return (a & b).total() / longer if longer else 0.0
