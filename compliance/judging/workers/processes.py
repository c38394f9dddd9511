"""Work spread over processes, in order, a batch at a time; one that dies or hangs is noticed.

The task that it was at is tried once more in a process of its own. So a file that takes all memory,
or for ever, costs its own verdict only.
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
"""Small enough batches that the last one keeps no process waiting for long."""

PATIENCE = 1.0
"""Seconds after which the parent looks whether a process hangs, while it waits for a result."""


def _as_it_is(tasks: list[Any]) -> None:
    """Nothing is loaded before processes are forked."""


class TaskPolicy(NamedTuple, Generic[Task, Done]):
    """What becomes of a task that costs a process: how many seconds it may take, and its outcome.

    `lost` is given why there is no other, as the rest of a sentence about the process. `path` is
    the file that a task reads, where it reads one; `prepare` is called in a process before those
    that do the tasks are forked from it.
    """

    limit: Callable[[Task], float]
    lost: Callable[[Task, str], Done]
    path: Callable[[Task], str] | None = None
    prepare: Callable[[list[Task]], None] = _as_it_is


def spread(
    work: Callable[[list[Task]], list[Done]],
    tasks: list[Task],
    jobs: int,
    care: TaskPolicy[Task, Done],
) -> Iterator[list[Done]]:
    """Batches of results in the order of the tasks, made by `jobs` processes."""
    size = max(1, -(-len(tasks) // (jobs * BATCHES_PER_JOB)))
    settled: dict[int, Done] = {}
    done = 0
    while done < len(tasks):
        left = [number for number in range(done, len(tasks)) if number not in settled]
        batches = [left[start : start + size] for start in range(0, len(left), size)]
        pool = _Pool(work, tasks, min(jobs, len(batches)), care.limit)
        try:
            for numbers, made in zip(batches, pool.results(batches), strict=True):
                settled.update(zip(numbers, made, strict=True))
                ready = range(done, numbers[-1] + 1)
                done = ready.stop
                yield [settled.pop(number) for number in ready]
            if rest := range(done, len(tasks)):
                done = rest.stop
                yield [settled.pop(number) for number in rest]
        except BrokenProcessPool:
            # One of these has ended its process; the others were ended with it. Where none was
            # begun, the first is taken, so that each round settles something
            for number in pool.begun() or left[:1]:
                if number >= done and number not in settled:
                    settled[number] = _alone(work, tasks[number], care)


# --- many processes ---

_PID, _NUMBER, _SINCE, _WIDTH = 0, 1, 2, 3
"""What each process writes for its parent to read: who it is, at which task, and since when."""


class _Pool(Generic[Task, Done]):
    """Processes that do batches; each notes in shared memory at which task it is."""

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
        """What each batch gives, in order; raises BrokenProcessPool where a process is lost."""
        turn = self.context.Value("i", 0)
        begin = (self.notes, turn)
        with ProcessPoolExecutor(self.count, self.context, _begin, begin) as pool:
            futures = deque(
                pool.submit(_do, self.work, numbers, [self.tasks[each] for each in numbers])
                for numbers in batches
            )
            whole = False
            try:
                while futures:
                    yield self._awaited(futures[0])
                    # Or what it gave would stay until the last batch is done
                    futures.popleft()
                whole = True
            finally:
                # Nobody wants the rest any more, and what hangs would be waited for. Where one is
                # ended the pool ends all, and must find no future that is cancelled
                if not whole and not self._kill(range(self.count)):
                    for future in futures:
                        future.cancel()

    def _awaited(self, future: Future[list[Done]]) -> list[Done]:
        while True:
            try:
                return future.result(PATIENCE)
            except TimeoutError:
                self._kill(self._overdue())

    def begun(self) -> list[int]:
        """The numbers of the tasks that processes are at, or were when they ended."""
        return sorted(int(self._note(slot, _NUMBER)) for slot in self._busy())

    def _note(self, slot: int, what: int) -> float:
        return float(self.notes[slot * _WIDTH + what])

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
        """End processes; whether there was any."""
        pids = [pid for slot in slots if (pid := int(self._note(slot, _PID)))]
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        return bool(pids)


_notes: Any = None
_slot = 0
"""In a process of the pool: the shared memory, and its own place in it."""


def _begin(notes: Any, turn: Any) -> None:
    global _notes, _slot
    with turn.get_lock():
        _slot, turn.value = turn.value, turn.value + 1
    _notes = notes
    _notes[_slot * _WIDTH + _PID] = os.getpid()
    end_with_parent()


def _note_task(number: int) -> None:
    _notes[_slot * _WIDTH + _SINCE] = time.monotonic()
    # Last: with a number goes the time since when
    _notes[_slot * _WIDTH + _NUMBER] = number


def _do(
    work: Callable[[list[Task]], list[Done]], numbers: list[int], tasks: list[Task]
) -> list[Done]:
    done: list[Done] = []
    for number, task in zip(numbers, tasks, strict=True):
        _note_task(number)
        done += work([task])
    _note_task(-1)
    return done


# --- one process for one task ---


def _alone(
    work: Callable[[list[Task]], list[Done]], task: Task, care: TaskPolicy[Task, Done]
) -> Done:
    """What a task gives in a process of its own, or its outcome where that is lost, too."""
    context: Any = process_context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_do_alone, args=(sender, work, task), daemon=True)
    process.start()
    # Only the process holds it now, so that its end is the end of the pipe
    sender.close()
    seconds = care.limit(task)
    try:
        if not receiver.poll(seconds):
            return care.lost(task, f"took more than {seconds:.0f} seconds, twice")
        done: list[Done] = receiver.recv()
        return done[0]
    except EOFError:
        process.join()
        return care.lost(task, f"{how_it_ended(process.exitcode)}, twice")
    finally:
        process.kill()
        process.join()
        receiver.close()


def _do_alone(sender: Connection, work: Callable[[list[Task]], list[Done]], task: Task) -> None:
    end_with_parent()
    sender.send(work([task]))
