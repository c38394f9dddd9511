"""Who does the work: one interface over the processes of this machine and workers elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from podium.compliance.judging.workers.processes import TaskPolicy, spread

Task = TypeVar("Task")
Done = TypeVar("Done")


class Engine(Protocol):
    """Maps batches of tasks over workers.

    `work` and what `care` holds are functions of modules, and pure: a batch may be done twice, by
    whichever worker. Results are small; they come in the order of the tasks, whoever made them.
    """

    def spread(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: list[Task],
        care: TaskPolicy[Task, Done],
    ) -> Iterator[list[Done]]:
        """Batches of results; what becomes of a task that costs its worker is up to `care`."""
        ...


class Processes(NamedTuple):
    """Processes of this machine, so many at a time."""

    jobs: int

    def spread(
        self,
        work: Callable[[list[Task]], list[Done]],
        tasks: list[Task],
        care: TaskPolicy[Task, Done],
    ) -> Iterator[list[Done]]:
        """Batches of results, made by processes that live as long as this call."""
        care.prepare(tasks)
        return spread(work, tasks, self.jobs, care)
