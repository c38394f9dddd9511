"""The time of a trace by kind of work, and its idle time by cause."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from podium.reference_runs.profiling.spans import gaps, inside, overlap, total, union
from podium.reference_runs.profiling.traces.events import LOADER
from podium.reference_runs.profiling.traces.report import NamedTime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from podium.reference_runs.profiling.spans import Span
    from podium.reference_runs.profiling.traces.events import Event, Trace

WAITS = ("synchronize",)
SHORT = 5.0
"""Microseconds: a shorter gap between queued kernels is the overhead of starting one."""


class Work(NamedTuple):
    """The work within the window, as unions of spans."""

    computing: list[Span]
    communication: list[Span]
    copies: list[Span]
    earlier: list[Span]
    """Work of all kinds that steps before the trace launched."""

    @property
    def busy(self) -> list[Span]:
        """Any work."""
        return union([*self.launched, *self.earlier])

    @property
    def launched(self) -> list[Span]:
        """The work that steps of the trace launched."""
        return union([*self.computing, *self.communication, *self.copies])


def work_of(trace: Trace) -> Work:
    """The work of the device, or of the CPU if the trace has none of a device."""
    if trace.device:
        return Work(
            computing=_spans(trace, trace.launched, "kernel"),
            communication=_spans(trace, trace.launched, "communication"),
            copies=_spans(trace, trace.launched, "copy"),
            earlier=inside(union(event.span for event in trace.earlier), trace.window),
        )
    waits = [event for event in trace.host if _waits_for_ranks(event)]
    operators = [
        event for event in trace.host if event.kind == "operator" and not _waits_for_ranks(event)
    ]
    communication = inside(union(event.span for event in waits), trace.window)
    computing = inside(union(event.span for event in operators), trace.window)
    return Work(computing, communication, copies=[], earlier=[])


def _waits_for_ranks(event: Event) -> bool:
    return event.kind == "communication" or event.name.startswith("c10d::")


def _spans(trace: Trace, events: Iterable[Event], kind: str) -> list[Span]:
    return inside(union(event.span for event in events if event.kind == kind), trace.window)


def parts(trace: Trace, steps: int) -> tuple[NamedTime, ...]:
    """Times that add up to the step, and the overlapped communication."""
    work = work_of(trace)
    overlapped = overlap(work.communication, work.computing)
    others = union([*work.computing, *work.communication])
    times = {
        "computing": total(work.computing),
        "communication, exposed": total(work.communication) - overlapped,
        "copies, exposed": total(work.copies) - overlap(work.copies, others),
        "work of earlier steps": total(work.busy) - total(work.launched),
        "idle": total(gaps(work.busy, trace.window)),
        "communication, overlapped": overlapped,
    }
    return named(times, steps)


def named(times: dict[str, float], steps: int) -> tuple[NamedTime, ...]:
    """Times in microseconds of all steps as milliseconds per step, without those that are zero."""
    return tuple(
        NamedTime(name=name, ms=time / steps / 1000) for name, time in times.items() if time > 0
    )


def idle(trace: Trace, steps: int) -> tuple[NamedTime, ...]:
    """The idle time by cause, the longest first."""
    causes: dict[str, float] = defaultdict(float)
    host = HostActivity(trace)
    starts = [event.begin for event in trace.device]
    for gap in gaps(work_of(trace).busy, trace.window):
        index = bisect_right(starts, gap[1] - 1e-6)
        following = trace.device[index] if index < len(starts) else None
        launch = trace.launches.get(following.correlation) if following else None
        for name, time in _causes(gap, launch, following, host):
            causes[name] += time
    return tuple(sorted(named(causes, steps), key=lambda cause: -cause.ms))


def _causes(
    gap: Span, launch: Event | None, following: Event | None, host: HostActivity
) -> Iterable[tuple[str, float]]:
    """The causes of one gap: the host is late, or launched work has not started."""
    begin, end = gap
    if following is None:
        yield from host.within(gap)
        return
    if launch is None:
        yield "unknown: no launch in the trace", end - begin
        return
    called = min(max(launch.end, begin), end)
    if launch.end > begin:
        yield from host.within((begin, called))
        yield "launch: launched, not yet running", end - called
    elif end - begin <= SHORT:
        yield "between kernels: overhead of the start", end - begin
    else:
        yield "dependency: queued work waits", end - begin


class HostActivity:
    """The reason of the host, at any time, for not launching work."""

    def __init__(self, trace: Trace) -> None:
        host, on_device = trace.host, bool(trace.device)
        loads = [event.span for event in host if event.name.startswith(LOADER)]
        waits = [
            event.span
            for event in host
            if event.kind == "launch" and any(word in event.name.lower() for word in WAITS)
        ]
        operators = [event.span for event in host if event.kind == "operator"] if on_device else []
        self._reasons = (
            ("host: data loader", union(loads)),
            ("host: synchronization with the device", union(waits)),
            ("host: operators, before they launch", union(operators)),
        )

    def within(self, gap: Span) -> Iterable[tuple[str, float]]:
        """The reasons within a gap; the first that applies counts."""
        rest = [gap]
        for name, spans in self._reasons:
            left = [uncovered for span in rest for uncovered in gaps(spans, span)]
            if time := total(rest) - total(left):
                yield name, time
            rest = left
        yield "host: Python, outside of operators", total(rest)
