"""The interface of engines: local processes, or workers on other machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from podium.compliance.judging.workers.processes import TaskPolicy, spread

Task = TypeVar("Task")
Done = TypeVar("Done")


class Engine(Protocol):
    """Maps batches of tasks over workers.

    `work` and the functions in `care` are pure functions of modules: a batch may be done twice, by
    any worker. Results are small, and are returned in the order of the tasks.
    """

    def spread(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: list[Task],
        policy: TaskPolicy[Task, Done],
    ) -> Iterator[list[Done]]:
        """Batches of results; `policy` decides the result of a task that kills its worker."""
        ...


class Processes(NamedTuple):
    """A number of local processes."""

    jobs: int

    def spread(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: list[Task],
        policy: TaskPolicy[Task, Done],
    ) -> Iterator[list[Done]]:
        """Batches of results, made by processes that end with this call."""
        policy.prepare(tasks)
        return spread(work, tasks, self.jobs, policy)
