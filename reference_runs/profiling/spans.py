"""Time spans: their union, its length, and its overlap with others."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[float, float]
"""Begin and end, in any one unit."""


def union(spans: Iterable[Span]) -> list[Span]:
    """The same time as disjoint, ordered spans."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def total(spans: Iterable[Span]) -> float:
    """The total length of disjoint spans."""
    return sum(end - begin for begin, end in spans)


def overlap(first: Sequence[Span], second: Sequence[Span]) -> float:
    """The length of the intersection of two unions."""
    length, a, b = 0.0, 0, 0
    while a < len(first) and b < len(second):
        begin, end = max(first[a][0], second[b][0]), min(first[a][1], second[b][1])
        length += max(0.0, end - begin)
        if first[a][1] < second[b][1]:
            a += 1
        else:
            b += 1
    return length


def inside(spans: Sequence[Span], window: Span) -> list[Span]:
    """The parts of a union within a window; fast for a short window of a long union."""
    begin, end = window
    first = bisect_right(spans, begin, key=lambda span: span[1])
    last = bisect_left(spans, end, key=lambda span: span[0])
    return [(max(a, begin), min(b, end)) for a, b in spans[first:last]]


def gaps(spans: Sequence[Span], window: Span) -> list[Span]:
    """The window without the spans of a union."""
    uncovered, position = [], window[0]
    for begin, end in inside(spans, window):
        if begin > position:
            uncovered.append((position, begin))
        position = end
    return [*uncovered, (position, window[1])] if position < window[1] else uncovered
