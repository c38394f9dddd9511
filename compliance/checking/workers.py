"""Work spread over processes, in order, a batch at a time."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from threading import Thread
from typing import TypeVar

Task = TypeVar("Task")
Done = TypeVar("Done")

BATCHES_PER_JOB = 12
"""Small enough batches that the last one keeps no process waiting for long."""


def spread(
    work: Callable[[list[Task]], list[Done]], tasks: list[Task], jobs: int
) -> Iterator[list[Done]]:
    """Batches of results in the order of the tasks, made by `jobs` processes."""
    size = max(1, -(-len(tasks) // (jobs * BATCHES_PER_JOB)))
    batches = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    # A forked process has the rules loaded already; elsewhere the platform's own way is used.
    method = "fork" if sys.platform == "linux" else None
    context = multiprocessing.get_context(method)
    count = min(jobs, len(batches))
    with ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent) as pool:
        yield from pool.map(work, batches)


def _end_with_parent() -> None:
    """Let this process end when the one that started it is gone, even killed without a word."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_await, args=(parent.sentinel,), daemon=True).start()


def _await(sentinel: int) -> None:
    from multiprocessing.connection import wait

    # A forked process also holds the pipes of those forked before it: they end one by one.
    wait([sentinel])
    # sys.exit would end this thread only
    os._exit(1)
