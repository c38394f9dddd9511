"""The division of tasks into batches for workers, by the bytes of their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")

BATCH_BYTES = 1 << 28
"""Bytes that a batch reads at most, unless it has only one file: seconds of work, a thousand times
the cost for the scheduler."""

LEAST_BYTES = 1 << 22
"""Bytes that a batch reads at least, if possible: less is read nearly as fast as it is sent."""

FILE_BYTES = 1 << 16
"""Bytes that are added to each file's size, because opening and checking it takes time, too."""

BATCHES_PER_WORKER = 4
"""The least number of batches for a worker, if there is enough work, so that the last batch is
short."""


def batches(sizes: Sequence[int], workers: int) -> Iterator[list[int]]:
    """The numbers of the tasks in each batch, in order; a batch is limited in bytes."""
    weights = [size + FILE_BYTES for size in sizes]
    share = sum(weights) // (max(1, workers) * BATCHES_PER_WORKER)
    batch_limit = min(BATCH_BYTES, max(LEAST_BYTES, share))
    batch: list[int] = []
    batch_bytes = 0
    for number, weight in enumerate(weights):
        if batch and batch_bytes + weight > batch_limit:
            yield batch
            batch, batch_bytes = [], 0
        batch.append(number)
        batch_bytes += weight
    if batch:
        yield batch


def sizes_of(tasks: Sequence[Task], path: Callable[[Task], str] | None) -> list[int]:
    """The bytes of each task's file; 0 for a missing file, which its check reports."""
    return [0 if path is None else _size(path(task)) for task in tasks]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
