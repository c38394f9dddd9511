"""Settings of the garbage collector while many small objects are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (500_000, 20, 50)
"""Thresholds of the three generations, for logs. The records of a log have no cycles, and are freed
by reference count after its check, so Python's default of 700 would scan them in vain. A round with
thousands of logs keeps about 30 objects for each, so that this number is a hundred megabytes at
most."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Collect cycles less often, here and in processes that are forked in the meantime."""
    thresholds = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
