"""Tables of a trace: operators that launch kernels, copies of memory, and annotated ranges."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from podium.reference_runs.profiling.spans import total, union
from podium.reference_runs.profiling.traces.report import Annotation, Copies, Launcher

if TYPE_CHECKING:
    from collections.abc import Iterable

    from podium.reference_runs.profiling.traces.events import Event, Trace

NUMBER = re.compile(r"#\d+$")
"""The number of a step, which torch.profiler appends to its name."""


def launchers(trace: Trace, steps: int) -> tuple[Launcher, ...]:
    """The operators by the time of the kernels that they launch, the longest first."""
    names = {
        event.args.get("External id"): event.name
        for event in trace.host
        if event.kind == "operator" and "External id" in event.args
    }
    work: dict[str, dict[Any, list[float]]] = defaultdict(lambda: defaultdict(list))
    for event in trace.launched:
        number = event.args.get("External id")
        if number in names:
            work[names[number]][number].append(_length(event))
    whole = sum(map(_length, trace.launched)) or 1.0
    rows = []
    for name, calls in work.items():
        lengths = [length for call in calls.values() for length in call]
        rows.append(
            Launcher(
                name=name,
                ms=sum(lengths) / steps / 1000,
                calls=len(calls) / steps,
                kernels=len(lengths) / steps,
                share=sum(lengths) / whole,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.ms))


def copies(trace: Trace, steps: int) -> tuple[Copies, ...]:
    """The copies and fills of memory by kind, the longest first."""
    rows = []
    for name, events in _by_name(event for event in trace.launched if event.kind == "copy"):
        time = sum(map(_length, events))
        sizes = [event.args.get("bytes") for event in events]
        moved = [size for size in sizes if isinstance(size, int)]
        known = len(moved) == len(sizes)
        rows.append(
            Copies(
                name=name,
                ms=time / steps / 1000,
                calls=len(events) / steps,
                bytes=sum(moved) / steps if known else None,
                bytes_per_s=sum(moved) / time * 1e6 if known else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.ms))


def annotated_ranges(trace: Trace, steps: int) -> tuple[Annotation, ...]:
    """The ranges by name, the longest on the host first."""
    calls = trace.launches
    work = sorted(
        (calls[number].begin, _length(event))
        for event in trace.launched
        if (number := event.correlation) in calls
    )
    begins = [begin for begin, _ in work]
    # The time of the work that was launched before each call
    before = [0.0, *accumulate(length for _, length in work)]
    rows = [
        Annotation(
            name=name,
            calls=len(events) / steps,
            host_ms=total(union(event.span for event in events)) / steps / 1000,
            device_ms=sum(
                before[bisect_left(begins, end)] - before[bisect_left(begins, begin)]
                for begin, end in union(event.span for event in events)
            )
            / steps
            / 1000,
            shortest_ms=min(map(_length, events)) / 1000,
            longest_ms=max(map(_length, events)) / 1000,
        )
        for name, events in _by_name(event for event in trace.host if event.kind == "range")
    ]
    return tuple(sorted(rows, key=lambda row: -row.host_ms))


def _by_name(events: Iterable[Event]) -> list[tuple[str, list[Event]]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        found[NUMBER.sub("", event.name)].append(event)
    return [*found.items()]


def _length(event: Event) -> float:
    return event.end - event.begin
