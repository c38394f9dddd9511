"""The values of `podium profile read`, compared with counts of each microsecond.

The definitions are those of Holistic Trace Analysis. All times are whole microseconds.
"""

from __future__ import annotations

import random
import statistics
from typing import TYPE_CHECKING, NamedTuple

import pytest

from podium.reference_runs.profiling.traces.analysis import analyzed
from podium.reference_runs.profiling.traces.events import read_trace
from tests.reference_runs.profiling.traces.made import Row, event, launched, written

if TYPE_CHECKING:
    from pathlib import Path

    from podium.reference_runs.profiling.traces.report import RankTrace

CALL = 5
"""Microseconds of a call that launches a kernel, as in `launched`."""
NAMES = {"compute": "gemm", "communication": "ncclDevKernel_AllReduce"}


class Kernel(NamedTuple):
    """A kernel of a random trace; all times are whole microseconds."""

    kind: str
    stream: int
    call: int
    begin: int
    end: int


def drawn(seed: int, streams: int) -> list[Kernel]:
    """Kernels that start after their calls, in the order of the calls on each stream."""
    draw = random.Random(seed)
    free = dict.fromkeys(range(streams), 0)
    kernels, call = [], 0
    for _ in range(draw.randint(5, 40)):
        call += CALL + draw.choice((0, 1, 8, 40))
        stream = draw.randrange(streams)
        begin = max(call + CALL, free[stream]) + draw.choice((0, 1, 3, 20))
        end = begin + draw.randint(1, 30)
        kernels.append(Kernel(draw.choice([*NAMES]), stream, call, begin, end))
        free[stream] = end
    return kernels


def analyzed_kernels(folder: Path, kernels: list[Kernel]) -> tuple[RankTrace, range]:
    """The analysis of one step with the kernels, and its microseconds."""
    length = max(kernel.end for kernel in kernels) + 10
    rows: list[Row] = [event("user_annotation", "ProfilerStep#1", 0, length)]
    for kernel in kernels:
        begin, time = kernel.begin, kernel.end - kernel.begin
        rows += launched(NAMES[kernel.kind], kernel.call, begin, time, stream=kernel.stream + 20)
    return analyzed(read_trace(written(folder, rows))), range(length)


def running(kernels: list[Kernel], time: int, kind: str | None = None) -> bool:
    return any(each.begin <= time < each.end and kind in (None, each.kind) for each in kernels)


@pytest.mark.parametrize("seed", range(20))
def test_the_temporal_breakdown_matches_the_counted_time(seed: int, tmp_path: Path) -> None:
    kernels = drawn(seed, streams=3)
    rank, times = analyzed_kernels(tmp_path, kernels)
    parts = {part.name: part.ms * 1000 for part in rank.parts}
    computing = [time for time in times if running(kernels, time, "compute")]
    communication = [time for time in times if running(kernels, time, "communication")]
    both = {*computing} & {*communication}
    assert parts == {
        name: pytest.approx(time)
        for name, time in {
            "computing": len(computing),
            "communication, exposed": len(communication) - len(both),
            "communication, overlapped": len(both),
            "idle": sum(not running(kernels, time) for time in times),
        }.items()
        if time
    }


@pytest.mark.parametrize("seed", range(20))
def test_launch_statistics_match_the_counted_delays_and_queue(seed: int, tmp_path: Path) -> None:
    kernels = drawn(seed, streams=2)
    rank, times = analyzed_kernels(tmp_path, kernels)
    found = rank.launches
    assert found is not None
    delays = [kernel.begin - kernel.call - CALL for kernel in kernels]
    assert found.median_delay_us == statistics.median(delays)
    assert found.longest_delay_us == max(delays)
    short = sum(kernel.end - kernel.begin < CALL for kernel in kernels)
    assert found.short == pytest.approx(short / len(kernels))
    queues = [sum(kernel.call <= time < kernel.begin for kernel in kernels) for time in times]
    assert found.longest_queue == max(queues)


@pytest.mark.parametrize("seed", range(20))
def test_idle_time_by_cause_matches_the_counted_time(seed: int, tmp_path: Path) -> None:
    kernels = drawn(seed, streams=1)
    rank, times = analyzed_kernels(tmp_path, kernels)
    late = launch = queued = 0
    for time in times:
        following = next((kernel for kernel in kernels if kernel.begin > time), None)
        if running(kernels, time):
            continue
        before = max((kernel.end for kernel in kernels if kernel.end <= time), default=0)
        if following is None or time < following.call + CALL:
            late += 1
        elif following.call + CALL > before:
            launch += 1
        else:
            queued += 1
    causes = {cause.name: cause.ms * 1000 for cause in rank.idle}
    host = sum(time for name, time in causes.items() if name.startswith("host"))
    assert host == pytest.approx(late)
    assert causes.get("launch: launched, not yet running", 0) == pytest.approx(launch)
    waits = ("between kernels: overhead of the start", "dependency: queued work waits")
    assert sum(causes.get(name, 0) for name in waits) == pytest.approx(queued)
