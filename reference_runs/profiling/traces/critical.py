"""The critical path of a trace: the chain of work, each waiting for the one before, to its end.

The path is walked backwards. A kernel starts when the kernel before it on its stream has ended,
when a kernel of another stream that it waits for has ended, or when the host has launched it: the
last of these is its cause. The host itself waits for the device in synchronizing calls. All threads
of the host are taken as one. The segments cover the analyzed time without gaps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from podium.reference_runs.profiling.spans import gaps, overlap, total
from podium.reference_runs.profiling.traces.breakdown import (
    SHORT,
    WAITS,
    HostActivity,
    named,
    work_of,
)
from podium.reference_runs.profiling.traces.report import NamedTime, PathWork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.profiling.traces.events import Event, Trace

MOST = 10
"""Rows of the longest work on the path."""


class Segment(NamedTuple):
    """A part of the path: its kind, the name of the work, and its microseconds."""

    kind: str
    name: str
    time: float


def critical_path(trace: Trace) -> list[Segment]:
    """The segments of the path, the last one first."""
    if trace.device:
        return [*_Walk(trace).segments()]
    return [*_on_host(trace)]


def summarized(
    segments: list[Segment], steps: int
) -> tuple[tuple[NamedTime, ...], tuple[PathWork, ...]]:
    """The path by kind of work, and its longest work."""
    kinds: dict[str, float] = defaultdict(float)
    works: dict[tuple[str, str], list[float]] = defaultdict(list)
    for segment in segments:
        kinds[segment.kind] += segment.time
        works[segment.kind, segment.name].append(segment.time)
    longest = sorted(works.items(), key=lambda item: -sum(item[1]))[:MOST]
    rows = [
        PathWork(kind=kind, name=name, ms=sum(times) / steps / 1000, segments=len(times))
        for (kind, name), times in longest
    ]
    return tuple(sorted(named(kinds, steps), key=lambda named_time: -named_time.ms)), tuple(rows)


def _on_host(trace: Trace) -> Iterator[Segment]:
    """A trace without a device: the work of the CPU, in the order of its time."""
    work = work_of(trace)
    exposed = total(work.communication) - overlap(work.communication, work.computing)
    yield Segment("computing", "operators", total(work.computing))
    if exposed:
        yield Segment("communication", "exposed", exposed)
    host = HostActivity(trace)
    for span in gaps(work.busy, trace.window):
        for name, time in host.within(span):
            if time > 0:
                yield Segment("host", _reason(name), time)


def _reason(cause: str) -> str:
    """The activity of the host; on the path it need not end in a launch."""
    return cause.removeprefix("host: ").removesuffix(", before they launch")


class _Walk:
    """The walk from the end of a trace to its begin."""

    def __init__(self, trace: Trace) -> None:
        self._begin, self._end = trace.window
        self._host = HostActivity(trace)
        self._launches = trace.launches
        self._ended = sorted(trace.device, key=lambda event: event.end)
        self._ends = [event.end for event in self._ended]
        streams: dict[tuple[str, str], list[Event]] = defaultdict(list)
        for event in self._ended:
            streams[event.lane].append(event)
        self._streams = streams
        self._stream_ends = {lane: [event.end for event in row] for lane, row in streams.items()}
        self._waits = sorted(
            (
                event
                for event in trace.host
                if event.kind == "launch" and any(word in event.name.lower() for word in WAITS)
            ),
            key=lambda event: event.end,
        )
        self._wait_ends = [event.end for event in self._waits]

    def segments(self) -> Iterator[Segment]:
        """The path, the last segment first."""
        time, kernel = self._end, self._last(self._end)
        if kernel is not None and kernel.end < time:
            kernel = None  # the host works after the last kernel
        while time > self._begin:
            if kernel is None:
                until, kernel = self._before_host(time)
                yield from self._host_work(until if kernel is None else kernel.end, time, until)
                time = until if kernel is None else kernel.end
                continue
            begin = max(kernel.begin, self._begin)
            yield Segment(kernel.kind, kernel.name, time - begin)
            time, cause = begin, self._cause(kernel)
            yield from self._delay(kernel, cause, time)
            time, kernel = min(time, cause.end), cause if cause.kind != "launch" else None

    def _before_host(self, time: float) -> tuple[float, Event | None]:
        """Back to the last call in which the host waited for the device, and its kernel."""
        index = bisect_right(self._wait_ends, time) - 1
        while index >= 0:
            wait = self._waits[index]
            kernel = self._last(min(wait.end, time))
            # A call that found the device idle waited for nothing
            if kernel is not None and kernel.end > wait.begin and kernel.begin < time:
                return wait.end, kernel
            index -= 1
            if wait.end <= self._begin:
                break
        return self._begin, None

    def _host_work(self, begin: float, end: float, waited: float) -> Iterator[Segment]:
        """The host's work, and the end of its waiting for the device."""
        begin, waited = max(begin, self._begin), max(min(waited, end), self._begin)
        for name, time in self._host.within((waited, end)):
            if time > 0:
                yield Segment("host", _reason(name), time)
        if begin < waited:
            yield Segment("host", "return from a synchronizing call", waited - begin)

    def _last(self, time: float) -> Event | None:
        index = bisect_right(self._ends, time) - 1
        return self._ended[index] if index >= 0 else None

    def _cause(self, kernel: Event) -> Event:
        """The work or the launch whose end let a kernel start; the host if it is unknown."""
        launch = self._launches.get(kernel.correlation)
        ends = self._stream_ends[kernel.lane]
        index = bisect_right(ends, kernel.begin) - 1
        before = self._streams[kernel.lane][index] if index >= 0 else None
        other = self._last(kernel.begin)
        causes = [event for event in (launch, before) if event is not None]
        cause = max(causes, key=lambda event: event.end, default=None)
        # A kernel of another stream is the cause if it ended right before the start
        late = cause is None or kernel.begin - cause.end > SHORT
        if late and other is not None and kernel.begin - other.end <= SHORT:
            return other
        return cause or kernel._replace(kind="launch", end=kernel.begin)

    def _delay(self, kernel: Event, cause: Event, time: float) -> Iterator[Segment]:
        """The time from the cause of a kernel to its start."""
        begin = max(cause.end, self._begin)
        if begin >= time:
            return
        if cause.kind == "launch":
            yield Segment("launch", "from the call to the start of the kernel", time - begin)
        else:
            kind = "gap" if time - begin <= SHORT else "dependency"
            yield Segment(kind, f"before {kernel.name}", time - begin)
