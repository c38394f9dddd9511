"""The garbage collector, set to look less often while many small objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (500_000, 20, 50)
"""Thresholds of the three generations, for logs. Their records are freed by reference count as soon
as each is judged, and hold no cycles: by its own 700 Python would look through them for nothing.
What a round of thousands of logs keeps is some 30 objects of each, so that this many are a hundred
megabytes at most."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Collect cycles less often, here and in processes forked meanwhile."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
