"""The garbage collector, told to look less often while many small objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (50_000, 20, 50)
"""Thresholds of the three generations. A log's records are freed by reference count as soon as it
is judged, and hold no cycles: Python's own 700 makes it look through them for nothing."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Collect cycles less often, here and in processes forked meanwhile."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def never_collect_again() -> None:
    """Leave all that there is to the end of the process.

    Python would look through every object for cycles once more before it ends, to free memory that
    goes with the process anyway; that takes longer than to judge a small log.
    """
    gc.freeze()
