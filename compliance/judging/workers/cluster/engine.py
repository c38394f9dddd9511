"""The engine for a scheduler of dask: batches in flight, ordered results, lost batches."""

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
from podium.compliance.judging.workers.cluster.deadline import within
from podium.compliance.judging.workers.cluster.work import do_batch
from podium.compliance.judging.workers.processes import TaskPolicy
from podium.compliance.version import VERSION

Task = TypeVar("Task")
Done = TypeVar("Done")

AHEAD = 3
LEAST_AHEAD = 128
"""Batches that a scheduler has at the same time: a number for each worker, or a total if that is
larger, for workers that join later."""

RETRIES = 2
"""Number of retries of a batch whose helper was lost. The scheduler itself retries a batch whose
worker died, `distributed.scheduler.allowed-failures` times."""

TRIES = 2
"""A file is lost after this number of failed batches, the last of which has no other file."""

PATIENCE = 1.0
"""Seconds between checks of the connection to the scheduler, while no results arrive."""

SILENCE = 10
"""Number of consecutive failed checks after which the scheduler is gone. After the same number of
checks without a result, it is asked whether it still answers."""

ANSWER_SECONDS = 30.0
"""Time limit for its answer when it is busy."""

Connect = Callable[[], tuple[Any, str]]
"""Returns a connected client of dask, and the user's name of the scheduler."""


class DaskEngine:
    """Workers of a scheduler, to which it connects when there is something to do."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._there: tuple[Any, str] | None = None

    def spread(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: list[Task],
        policy: TaskPolicy[Task, Done],
    ) -> Iterator[list[Done]]:
        """Batches of results; raises UsageFault if no worker can be reached or used."""
        if self._there is None:
            self._there = self._connect()
        client, name = self._there
        flow = _Flow(client, name, work, tasks, policy)
        try:
            yield from flow.results()
        finally:
            # The rest is not needed
            flow.drop()


class _Flow(Generic[Task, Done]):
    """The batches of one call: waiting batches, batches of the scheduler, and results."""

    def __init__(
        self,
        client: Any,
        name: str,
        work: Callable[[list[Task]], list[Done]],
        tasks: Sequence[Task],
        policy: TaskPolicy[Task, Done],
    ) -> None:
        self.client, self.name, self.silent = client, name, False
        self.work, self.tasks, self.care = work, tasks, policy
        workers = sum(self._asked(client.nthreads).values())
        self.most = max(LEAST_AHEAD, AHEAD * workers)
        self.waiting = deque(batches(sizes_of(tasks, policy.path), workers))
        self.running: dict[Any, list[int]] = {}
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.settled: dict[int, Done] = {}
        self.lost: Counter[int] = Counter()
        self.suspects: deque[int] = deque()
        self.folder = os.getcwd()
        self.run, self.sent = uuid4().hex, 0

    def results(self) -> Iterator[list[Done]]:
        """Results in the order of the tasks, as soon as all earlier results have arrived."""
        next_index = 0
        while next_index < len(self.tasks):
            # For a scheduler, many batches at once cost little more than one
            if self.waiting and len(self.running) <= self.most // 2:
                count = min(self.most - len(self.running), len(self.waiting))
                self._send([self.waiting.popleft() for _ in range(count)])
            elif self.suspects and not self.running:
                # Only one: a scheduler blames all batches of a worker that dies
                self._send([[self.suspects.popleft()]])
            for future in self._awaited():
                self._take(future)
            batch: list[Done] = []
            while next_index in self.settled:
                batch.append(self.settled.pop(next_index))
                next_index += 1
            if batch:
                yield batch

    def drop(self) -> None:
        """Cancel unfinished batches."""
        with suppress(Exception):
            if self.running and not self.silent:
                within(ANSWER_SECONDS, partial(self.client.cancel, [*self.running], force=True))
        self.running.clear()

    def _asked(self, question: Callable[[], Any]) -> Any:
        """The scheduler's answer; raises UsageFault if it does not answer."""
        try:
            return within(ANSWER_SECONDS, question)
        except (OSError, TimeoutError):
            self.silent = True
            raise self._gone() from None

    def _gone(self) -> UsageFault:
        return UsageFault(f"the scheduler of {self.name} no longer answers")

    def _send(self, groups: list[list[int]]) -> None:
        names = [f"podium-{self.run}-{self.sent + number}" for number in range(len(groups))]
        self.sent += len(groups)
        futures = self.client.map(
            partial(do_batch, VERSION),
            [*map(self._packed, groups)],
            key=names,
            retries=RETRIES,
            pure=False,
        )
        for future, numbers in zip(futures, groups, strict=True):
            self.running[future] = numbers
            future.add_done_callback(self.ended.put)

    def _packed(self, numbers: list[int]) -> bytes:
        tasks = [self.tasks[number] for number in numbers]
        path = self.care.path
        # A finding reports a file that does not exist here
        paths = () if path is None else map(path, tasks)
        visible_paths = [path for path in paths if os.path.lexists(path)]
        return packed(Batch(self.work, tasks, self.care, self.folder, visible_paths))

    def _awaited(self) -> Iterable[Any]:
        """At least one finished future; raises UsageFault if the scheduler is gone."""
        silent_checks = looks = 0
        while True:
            try:
                futures = [self.ended.get(timeout=PATIENCE)]
                break
            except queue.Empty:
                looks += 1
                silent_checks = 0 if self.client.status == "running" else silent_checks + 1
            lost = [future for future in self.running if future.status in ("cancelled", "lost")]
            if silent_checks >= SILENCE or (lost and self.client.status != "running"):
                raise self._gone()
            if lost:
                return lost
            # A suspended scheduler keeps its connections
            if looks % SILENCE == 0 and not silent_checks:
                self._asked(partial(self.client.sync, self.client.scheduler.echo, data=b""))
        with suppress(queue.Empty):
            while True:
                futures.append(self.ended.get_nowait())
        return futures

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
            # The scheduler may have restarted and lost the batch: it is sent again
            self.waiting.appendleft(numbers)
            return
        answer: Answer = unpacked(data)
        if answer.raised is not None:
            raise answer.raised
        if answer.unfit:
            raise UsageFault(
                f"a worker of {self.name} cannot find {answer.unfit}; use paths that lead to the "
                "same files on every machine"
            )
        self.settled.update(zip(numbers, answer.done, strict=True))

    def _failed(self, numbers: list[int], error: BaseException) -> None:
        """Retry the files of a lost batch one at a time; raises for other errors."""
        if isinstance(error, OtherVersion):
            raise UsageFault(f"a worker of {self.name} has podium {error}; expected {VERSION}")
        if isinstance(error, ImportError):
            raise UsageFault(
                f"podium is not installed on a worker or the scheduler of {self.name}: {error}"
            )
        # By the name of its class: dask is an optional dependency
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
    return "ended together with its worker, several times"
