"""Search for many words at once in the bytes of a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ahocorasick_rs import BytesAhoCorasick, MatchKind

Find = Callable[[bytes | memoryview], list[tuple[int, int, int]]]
"""A function from bytes to (index of the word, start, end) of each match, without overlaps."""


def finder(words: Sequence[bytes]) -> Find:
    """A function that finds these words; of two at the same place, the one listed first."""
    # The library finds leftmost matches many bytes at a time.
    return BytesAhoCorasick(words, matchkind=MatchKind.LeftmostFirst).find_matches_as_indexes
