"""Work in several processes, in order and in batches; processes that die or hang are noticed.

The task of such a process is tried once more in a separate process. So a file that uses all memory
or never finishes affects only its own verdict.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, Generic, NamedTuple, TypeVar

from podium.compliance.files.processes import end_with_parent, how_it_ended, process_context

Task = TypeVar("Task")
Done = TypeVar("Done")

BATCHES_PER_JOB = 12
"""Number of batches for each process, so that the last batch is small."""

PATIENCE = 1.0
"""Seconds between checks for hanging processes, while the parent waits for a result."""


def _as_it_is(tasks: list[Any]) -> None:
    """Import nothing before processes are forked."""


class TaskPolicy(NamedTuple, Generic[Task, Done]):
    """The time limit of a task, and its result if its process is lost.

    `lost` gets the reason, as the end of a sentence about the process. `path` returns the file that
    a task reads, if any. `prepare` is called in a process before the processes for the tasks are
    forked from it.
    """

    limit: Callable[[Task], float]
    lost: Callable[[Task, str], Done]
    path: Callable[[Task], str] | None = None
    prepare: Callable[[list[Task]], None] = _as_it_is


def spread(
    work: Callable[[list[Task]], list[Done]],
    tasks: list[Task],
    jobs: int,
    policy: TaskPolicy[Task, Done],
) -> Iterator[list[Done]]:
    """Batches of results in the order of the tasks, made by `jobs` processes."""
    size = max(1, -(-len(tasks) // (jobs * BATCHES_PER_JOB)))
    results: dict[int, Done] = {}
    next_index = 0
    while next_index < len(tasks):
        remaining = [number for number in range(next_index, len(tasks)) if number not in results]
        batches = [remaining[start : start + size] for start in range(0, len(remaining), size)]
        pool = _Pool(work, tasks, min(jobs, len(batches)), policy.limit)
        try:
            for numbers, batch_results in zip(batches, pool.results(batches), strict=True):
                results.update(zip(numbers, batch_results, strict=True))
                ready_range = range(next_index, numbers[-1] + 1)
                next_index = ready_range.stop
                yield [results.pop(number) for number in ready_range]
            if rest_range := range(next_index, len(tasks)):
                next_index = rest_range.stop
                yield [results.pop(number) for number in rest_range]
        except BrokenProcessPool:
            # One of these killed its process, and the others ended with it. If no task was begun,
            # the first is tried, so that each iteration makes progress
            for number in pool.begun() or remaining[:1]:
                if number >= next_index and number not in results:
                    results[number] = _alone(work, tasks[number], policy)


# --- many processes ---

_PID, _NUMBER, _SINCE, _WIDTH = 0, 1, 2, 3
"""The fields that each process writes for its parent: its id, its task, and the task's start."""


class _Pool(Generic[Task, Done]):
    """Processes that do batches; each writes its current task to shared memory."""

    def __init__(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: Sequence[Task],
        count: int,
        limit: Callable[[Task], float],
    ) -> None:
        self.work, self.tasks, self.limit = work, tasks, limit
        self.count = max(1, count)
        self.context = process_context()
        self.notes: Any = self.context.RawArray("d", [0.0, -1.0, 0.0] * self.count)

    def results(self, batches: list[list[int]]) -> Iterator[list[Done]]:
        """The results of the batches, in order; raises BrokenProcessPool if a process is lost."""
        counter = self.context.Value("i", 0)
        begin = (self.notes, counter)
        with ProcessPoolExecutor(self.count, self.context, _begin, begin) as pool:
            futures = deque(
                pool.submit(_do, self.work, numbers, [self.tasks[number] for number in numbers])
                for numbers in batches
            )
            is_complete = False
            try:
                while futures:
                    yield self._awaited(futures[0])
                    # Otherwise its results would stay in memory until the last batch is done
                    futures.popleft()
                is_complete = True
            finally:
                # The rest is not needed, and the pool would wait for hanging processes. If one
                # process is killed, the pool ends all, and must not find a cancelled future
                if not is_complete and not self._kill(range(self.count)):
                    for future in futures:
                        future.cancel()

    def _awaited(self, future: Future[list[Done]]) -> list[Done]:
        while True:
            try:
                return future.result(PATIENCE)
            except TimeoutError:
                self._kill(self._overdue())

    def begun(self) -> list[int]:
        """The numbers of the tasks that processes do, or did when they ended."""
        return sorted(int(self._note(slot, _NUMBER)) for slot in self._busy())

    def _note(self, slot: int, field: int) -> float:
        return float(self.notes[slot * _WIDTH + field])

    def _task(self, slot: int) -> Task:
        return self.tasks[int(self._note(slot, _NUMBER))]

    def _busy(self) -> list[int]:
        return [slot for slot in range(self.count) if self._note(slot, _NUMBER) >= 0]

    def _overdue(self) -> list[int]:
        now = time.monotonic()
        return [
            slot
            for slot in self._busy()
            if now - self._note(slot, _SINCE) > self.limit(self._task(slot))
        ]

    def _kill(self, slots: Sequence[int]) -> bool:
        """Kill processes. Return whether there were any."""
        pids = [pid for slot in slots if (pid := int(self._note(slot, _PID)))]
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        return bool(pids)


_notes: Any = None
_slot = 0
"""In a process of the pool: the shared memory, and the process's slot in it."""


def _begin(notes: Any, counter: Any) -> None:
    global _notes, _slot
    with counter.get_lock():
        _slot, counter.value = counter.value, counter.value + 1
    _notes = notes
    _notes[_slot * _WIDTH + _PID] = os.getpid()
    end_with_parent()


def _note_task(number: int) -> None:
    _notes[_slot * _WIDTH + _SINCE] = time.monotonic()
    # Last, because the number makes the start time valid
    _notes[_slot * _WIDTH + _NUMBER] = number


def _do(
    work: Callable[[list[Task]], list[Done]], numbers: list[int], tasks: list[Task]
) -> list[Done]:
    results: list[Done] = []
    for number, task in zip(numbers, tasks, strict=True):
        _note_task(number)
        results += work([task])
    _note_task(-1)
    return results


# --- one process for one task ---


def _alone(
    work: Callable[[list[Task]], list[Done]], task: Task, policy: TaskPolicy[Task, Done]
) -> Done:
    """The result of a task in a separate process, or its result if this process is lost, too."""
    context: Any = process_context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_do_alone, args=(sender, work, task), daemon=True)
    process.start()
    # Only the process has the sender now, so that its end closes the pipe
    sender.close()
    seconds = policy.limit(task)
    try:
        if not receiver.poll(seconds):
            return policy.lost(task, f"took more than {seconds:.0f} seconds, twice")
        results: list[Done] = receiver.recv()
        return results[0]
    except EOFError:
        process.join()
        return policy.lost(task, f"{how_it_ended(process.exitcode)}, twice")
    finally:
        process.kill()
        process.join()
        receiver.close()


def _do_alone(sender: Connection, work: Callable[[list[Task]], list[Done]], task: Task) -> None:
    end_with_parent()
    sender.send(work([task]))
