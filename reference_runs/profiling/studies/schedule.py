"""Schedules of jobs on equal devices that minimize the end of the last job.

A job may run on any measured number of devices, keeps them to its end and is not interrupted. Plans
are built job by job, in the order of their start times. Some optimal plan has this form: every job
can start earlier until another ends on a device that it needs. So the search covers the orders and
numbers of devices, and prunes those that cannot end sooner than the best plan so far.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from podium.reference_runs.profiling.studies.study import Placed, Plan, Schedule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from podium.reference_runs.profiling.studies.study import Job

MOST_STATES = 200_000
"""Maximum number of partial plans in a search: some seconds."""
TIE = 1e-9
"""Relative tolerance: plans with a smaller difference end at the same time."""

Choice = tuple["Job", int]
"""A job and its number of devices."""


def planned(jobs: Sequence[Job], devices: int, most_states: int = MOST_STATES) -> Schedule:
    """The best plan, or the best among `most_states` partial plans; and the naive ones.

    Raises ValueError if a job was only measured on more devices than there are.
    """
    for job in jobs:
        if not any(n <= devices for n in job.seconds):
            raise ValueError(f"{job.name} was only measured on more than {devices} devices")
    naive = tuple(_naive(jobs, devices))
    search = _Search(jobs, devices, most_states)
    search.start(_first_guesses(jobs, devices))
    proven = search.run()
    best = _plan("best", search.best, devices)
    bound = best.seconds if proven else search.bound
    return Schedule(
        devices=devices, jobs=tuple(jobs), best=best, naive=naive, bound=bound, proven=proven
    )


def _usable(job: Job, devices: int) -> list[int]:
    return sorted(n for n in job.seconds if n <= devices)


def _naive(jobs: Sequence[Job], devices: int) -> Iterator[Plan]:
    """Plans without a search: all devices for each job in turn, or one device for each."""
    widest = [(job, _usable(job, devices)[-1]) for job in jobs]
    placed, end = [], 0.0
    for job, count in widest:
        begin, end = end, end + job.seconds[count]
        placed.append(Placed(job=job.name, devices=tuple(range(count)), begin=begin, end=end))
    yield Plan(name="one after another", seconds=end, jobs=tuple(placed))
    narrowest = [(job, _usable(job, devices)[0]) for job in jobs]
    yield _plan("fewest devices each", narrowest, devices)


def _first_guesses(jobs: Sequence[Job], devices: int) -> Iterator[list[Choice]]:
    """Initial plans: the longest job first, each on as many devices as are efficient."""
    # Minimum efficiency for using more devices
    for least in (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 1.0):
        chosen = []
        for job in jobs:
            counts = _usable(job, devices)
            work = counts[0] * job.seconds[counts[0]]
            paying = [n for n in counts if work >= least * n * job.seconds[n]]
            chosen.append((job, min(paying or counts[:1], key=lambda n: job.seconds[n])))
        yield sorted(chosen, key=lambda choice: -choice[0].seconds[choice[1]])
        yield sorted(chosen, key=lambda choice: (-choice[1], -choice[0].seconds[choice[1]]))


def _plan(name: str, choices: Sequence[Choice], devices: int) -> Plan:
    """Jobs in an order, each as soon as enough devices are free but not before the previous job."""
    free, last = [0.0] * devices, 0.0
    placed = []
    for job, count in choices:
        by_time = sorted(range(devices), key=lambda device: (free[device], device))
        begin = last = max(last, free[by_time[count - 1]])
        # Among the free devices, the choice does not affect later jobs
        taken = sorted(device for device in by_time if free[device] <= begin)[:count]
        end = begin + job.seconds[count]
        for device in taken:
            free[device] = end
        placed.append(Placed(job=job.name, devices=tuple(taken), begin=begin, end=end))
    return Plan(name=name, seconds=max(placement.end for placement in placed), jobs=tuple(placed))


class _State(NamedTuple):
    """A partial plan: when devices become free, ascending, and the remaining jobs, as bits."""

    free: tuple[float, ...]
    left: int


class _Search:
    """Depth-first search over orders and numbers of devices, with lower bounds."""

    def __init__(self, jobs: Sequence[Job], devices: int, most_states: int) -> None:
        self._jobs, self._devices = jobs, devices
        self._counts = [_usable(job, devices) for job in jobs]
        self._work = [
            min(n * job.seconds[n] for n in counts)
            for job, counts in zip(jobs, self._counts, strict=True)
        ]
        self._shortest = [
            min(job.seconds[n] for n in counts)
            for job, counts in zip(jobs, self._counts, strict=True)
        ]
        self._seen: set[_State] = set()
        self._looks = most_states
        self._end = math.inf
        self.best: list[Choice] = []
        self._begin = _State((0.0,) * devices, (1 << len(jobs)) - 1)
        self.bound = self._least(self._begin)

    def start(self, guesses: Iterable[list[Choice]]) -> None:
        """Use the best of some plans as the first solution."""
        for choices in guesses:
            end = _plan("", choices, self._devices).seconds
            if end < self._end:
                self._end, self.best = end, choices

    def run(self) -> bool:
        """Search for a better plan; returns whether the search was complete."""
        self._go(self._begin, [])
        return self._looks > 0

    def _go(self, state: _State, made: list[Choice]) -> None:
        if not state.left:
            if state.free[-1] < self._end * (1 - TIE):
                self._end, self.best = state.free[-1], [*made]
            return
        if state in self._seen or self._looks <= 0:
            return
        self._seen.add(state)
        self._looks -= 1
        if self._least(state) >= self._end * (1 - TIE):
            return
        # Those that occupy devices longest come first: good plans early, which prune more
        following = sorted(self._following(state), key=lambda option: -option[0][1])
        for (index, _, count), then in following:
            made.append((self._jobs[index], count))
            self._go(then, made)
            made.pop()

    def _following(self, state: _State) -> Iterator[tuple[tuple[int, float, int], _State]]:
        """Each remaining job on each number of devices: (job, its work, devices), and the state."""
        for index, counts in enumerate(self._counts):
            if not state.left >> index & 1:
                continue
            for count in counts:
                begin, seconds = state.free[count - 1], self._jobs[index].seconds[count]
                # No later job starts sooner: devices free by then are free from then on
                others = (max(begin, time) for time in state.free[count:])
                free = sorted([*others, *[begin + seconds] * count])
                yield (
                    (index, seconds * count, count),
                    _State(tuple(free), state.left & ~(1 << index)),
                )

    def _least(self, state: _State) -> float:
        """A lower bound for the end of every plan that continues from here."""
        left = [index for index in range(len(self._jobs)) if state.left >> index & 1]
        work = sum(state.free) + sum(self._work[index] for index in left)
        longest = max((self._shortest[index] for index in left), default=0.0)
        return max(work / self._devices, state.free[0] + longest, state.free[-1])
