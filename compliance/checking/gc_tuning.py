"""The garbage collector, told to look less often while many small objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

USUAL = gc.get_threshold()
"""Python's own thresholds of the three generations."""
SELDOM = (500_000, 20, 50)
"""For logs. Their records are freed by reference count as soon as each is judged, and hold no
cycles: by its own 700 Python would look through them for nothing. What a round of thousands of logs
keeps is some 30 objects of each, so that this many are a hundred megabytes at most."""


@contextmanager
def _thresholds(wanted: tuple[int, int, int]) -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*wanted)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Collect cycles less often, here and in processes forked meanwhile."""
    with _thresholds(SELDOM):
        yield


@contextmanager
def usual_collections() -> Iterator[None]:
    """Collect as often as Python would: a cycle of a trainer's may hold gigabytes."""
    with _thresholds(USUAL):
        yield


def never_collect_again() -> None:
    """Leave all that there is to the end of the process.

    Python would look through every object for cycles once more before it ends, to free memory that
    goes with the process anyway; that takes longer than to judge a small log.
    """
    gc.freeze()
