"""The engine over a scheduler of dask: batches in flight, results in order, what is lost."""

from __future__ import annotations

import os
import queue
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar
from uuid import uuid4

from podium.compliance.errors import UsageFault
from podium.compliance.judging.workers.cluster.batch import (
    Answer,
    Batch,
    HelperLost,
    OtherVersion,
    packed,
    unpacked,
)
from podium.compliance.judging.workers.cluster.batches import batches, sizes_of
from podium.compliance.judging.workers.cluster.work import do_batch
from podium.compliance.judging.workers.processes import TaskPolicy
from podium.compliance.version import VERSION

Task = TypeVar("Task")
Done = TypeVar("Done")

AHEAD = 3
LEAST_AHEAD = 128
"""Batches that a scheduler has at a time: so many for each worker, or so many in all if that is
more, for workers that join later."""

RETRIES = 2
"""How often a scheduler tries a batch again whose helper was lost; one whose worker died it tries
again by itself, `distributed.scheduler.allowed-failures` times."""

TRIES = 2
"""A file is lost that was in two batches that came to nothing, in the second alone."""

PATIENCE = 1.0
"""Seconds after which is looked whether the scheduler is still there, while nothing comes."""

SILENCE = 10
"""Looks, one after the other, at which it was not: so long it may be away."""

Connect = Callable[[], tuple[Any, str]]
"""Gives a connected client of dask, and the scheduler as the user named it."""


class DaskEngine:
    """Workers of a scheduler, which is asked for when there is something to do."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._there: tuple[Any, str] | None = None

    def spread(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: list[Task],
        care: TaskPolicy[Task, Done],
    ) -> Iterator[list[Done]]:
        """Batches of results; raises UsageFault where no worker can be asked, or is fit to."""
        if self._there is None:
            self._there = self._connect()
        client, name = self._there
        flow = _Flow(client, name, work, tasks, care)
        try:
            yield from flow.results()
        finally:
            # Nobody wants the rest any more
            flow.drop()


class _Flow(Generic[Task, Done]):
    """The batches of one call: those that wait, those that a scheduler has, and what they gave."""

    def __init__(
        self,
        client: Any,
        name: str,
        work: Callable[[list[Task]], list[Done]],
        tasks: Sequence[Task],
        care: TaskPolicy[Task, Done],
    ) -> None:
        self.client, self.name = client, name
        self.work, self.tasks, self.care = work, tasks, care
        workers = sum(client.nthreads().values())
        self.most = max(LEAST_AHEAD, AHEAD * workers)
        self.waiting = deque(batches(sizes_of(tasks, care.path), workers))
        self.running: dict[Any, list[int]] = {}
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.settled: dict[int, Done] = {}
        self.lost: Counter[int] = Counter()
        self.suspects: deque[int] = deque()
        self.folder = os.getcwd()
        self.run, self.sent = uuid4().hex, 0

    def results(self) -> Iterator[list[Done]]:
        """What there is in the order of the tasks, as soon as all before it is there."""
        done = 0
        while done < len(self.tasks):
            # Many at once cost a scheduler little more than one does
            if self.waiting and len(self.running) <= self.most // 2:
                count = min(self.most - len(self.running), len(self.waiting))
                self._send([self.waiting.popleft() for _ in range(count)])
            elif self.suspects and not self.running:
                # One, and nothing beside it: a scheduler blames all that a dying worker was to do
                self._send([[self.suspects.popleft()]])
            for future in self._awaited():
                self._take(future)
            ready: list[Done] = []
            while done in self.settled:
                ready.append(self.settled.pop(done))
                done += 1
            if ready:
                yield ready

    def drop(self) -> None:
        """Have what is not done yet be forgotten."""
        with suppress(Exception):
            if self.running:
                self.client.cancel([*self.running], force=True)
        self.running.clear()

    def _send(self, cut: list[list[int]]) -> None:
        names = [f"podium-{self.run}-{self.sent + number}" for number in range(len(cut))]
        self.sent += len(cut)
        futures = self.client.map(
            partial(do_batch, VERSION),
            [*map(self._packed, cut)],
            key=names,
            retries=RETRIES,
            pure=False,
        )
        for future, numbers in zip(futures, cut, strict=True):
            self.running[future] = numbers
            future.add_done_callback(self.ended.put)

    def _packed(self, numbers: list[int]) -> bytes:
        tasks = [self.tasks[number] for number in numbers]
        path = self.care.path
        # Of a file that is not here it is the finding that says so
        paths = () if path is None else map(path, tasks)
        seen = [each for each in paths if os.path.lexists(each)]
        return packed(Batch(self.work, tasks, self.care, self.folder, seen))

    def _awaited(self) -> Iterable[Any]:
        """Futures that have ended, one at least; raises UsageFault where the scheduler is gone."""
        away = 0
        while True:
            try:
                found = [self.ended.get(timeout=PATIENCE)]
                break
            except queue.Empty:
                away = 0 if self.client.status == "running" else away + 1
            gone = [each for each in self.running if each.status in ("cancelled", "lost")]
            if away >= SILENCE or (gone and self.client.status != "running"):
                raise UsageFault(f"the scheduler of {self.name} does not answer any more")
            if gone:
                return gone
        with suppress(queue.Empty):
            while True:
                found.append(self.ended.get_nowait())
        return found

    def _take(self, future: Any) -> None:
        numbers = self.running.pop(future, None)
        if numbers is None:
            return
        if future.status == "error":
            self._failed(numbers, future.exception())
            return
        try:
            data = future.result() if future.status == "finished" else None
        except Exception as error:
            self._failed(numbers, error)
            return
        if data is None:
            # Forgotten by a scheduler that has started anew, perhaps: it does no harm to ask again
            self.waiting.appendleft(numbers)
            return
        answer: Answer = unpacked(data)
        if answer.raised is not None:
            raise answer.raised
        if answer.unfit:
            raise UsageFault(
                f"a worker of {self.name} does not see {answer.unfit}; give paths that lead to "
                "the same files on every machine"
            )
        self.settled.update(zip(numbers, answer.done, strict=True))

    def _failed(self, numbers: list[int], error: BaseException) -> None:
        """Try the files of a batch again that was lost, each alone; raises for other errors."""
        if isinstance(error, OtherVersion):
            raise UsageFault(
                f"a worker of {self.name} has podium {error}, this is {VERSION}; install the same"
            )
        if isinstance(error, ImportError):
            raise UsageFault(f"a worker or the scheduler of {self.name} has no podium: {error}")
        # Named by its class: dask is imported only where it is there
        if not isinstance(error, HelperLost) and type(error).__name__ != "KilledWorker":
            raise error
        self.lost.update(numbers)
        for number in numbers:
            if self.lost[number] < TRIES:
                self.suspects.append(number)
            else:
                self.settled[number] = self.care.lost(self.tasks[number], _how(error))


def _how(error: BaseException) -> str:
    if isinstance(error, HelperLost):
        return f"{error}, twice"
    return "ended, and its worker with it, again and again"
