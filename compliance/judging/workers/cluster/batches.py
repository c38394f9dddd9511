"""Tasks cut into batches by the bytes of their files: what a worker is sent at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Task = TypeVar("Task")

BATCH_BYTES = 1 << 28
"""A batch has so much to read at most, or one file: seconds of work, a thousand times what it costs
its scheduler."""

LEAST_BYTES = 1 << 22
"""And so much at least, where there is: less is read nearly as soon as it is passed on."""

FILE_BYTES = 1 << 16
"""What a file counts beside its own bytes, as to open and to judge it takes time, too."""

BATCHES_PER_WORKER = 4
"""A worker gets so many at least, where there is enough to do: the last one keeps nobody waiting
for long."""


def batches(sizes: Sequence[int], workers: int) -> Iterator[list[int]]:
    """The numbers of the tasks, in order, cut where a batch would hold too many bytes."""
    weights = [size + FILE_BYTES for size in sizes]
    share = sum(weights) // (max(1, workers) * BATCHES_PER_WORKER)
    most = min(BATCH_BYTES, max(LEAST_BYTES, share))
    batch: list[int] = []
    held = 0
    for number, weight in enumerate(weights):
        if batch and held + weight > most:
            yield batch
            batch, held = [], 0
        batch.append(number)
        held += weight
    if batch:
        yield batch


def sizes_of(tasks: Sequence[Task], path: Callable[[Task], str] | None) -> list[int]:
    """The bytes of each task's file; none where there is no file, which whoever judges it tells."""
    return [0 if path is None else _size(path(task)) for task in tasks]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
