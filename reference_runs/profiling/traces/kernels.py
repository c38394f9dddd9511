"""Tables of a trace: kernels, counted operators, launches, and frequent sequences of kernels."""

from __future__ import annotations

import statistics
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.reference_runs.kernels.operators import described
from podium.reference_runs.profiling.traces.report import (
    CountedOperator,
    KernelTime,
    Launches,
    Sequence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from podium.reference_runs.profiling.traces.events import Event, Trace

LENGTHS, FEWEST, MOST = (2, 3, 4, 5), 2, 5
"""Lengths of sequences, the fewest occurrences of one, and the sequences in a report."""

SLOW, LATE, TINY = 50.0, 100.0, 10.0
"""Microseconds: a longer call of a launch is slow, a kernel with a longer delay is late, and a
shorter kernel is tiny."""


def kernel_times(trace: Trace, steps: int) -> tuple[KernelTime, ...]:
    """The kernels of a device, or the own time of operators on a CPU; the longest first."""
    times_by_name: dict[str, list[float]] = defaultdict(list)
    if trace.device:
        for event in trace.launched:
            times_by_name[event.name].append(event.end - event.begin)
    else:
        for call in _calls(trace):
            times_by_name[call.event.name].append(call.own)
    whole = sum(map(sum, times_by_name.values())) or 1.0
    rows = [
        KernelTime(
            name=name,
            ms=sum(times) / steps / 1000,
            calls=len(times) / steps,
            share=sum(times) / whole,
            shortest_us=min(times),
            longest_us=max(times),
        )
        for name, times in times_by_name.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def launches(trace: Trace, steps: int) -> Launches | None:
    """The launches of a device's work; None if the trace has none."""
    calls = trace.launches
    pairs = [
        (calls[number], event) for event in trace.device if (number := event.correlation) in calls
    ]
    if not pairs:
        return None
    lengths = [event.end - event.begin for _, event in pairs]
    delays = [max(0.0, event.begin - call.end) for call, event in pairs]
    # A kernel that starts at the time of another launch has left the queue before it
    changes = sorted(
        [*((call.begin, 1) for call, _ in pairs), *((event.begin, -1) for _, event in pairs)]
    )
    queue = longest = 0
    for _, change in changes:
        queue += change
        longest = max(longest, queue)
    return Launches(
        per_step=len(pairs) / steps,
        median_delay_us=statistics.median(delays),
        longest_delay_us=max(delays),
        short=_share(event.end - event.begin < call.end - call.begin for call, event in pairs),
        longest_queue=longest,
        slow_calls=_share(call.end - call.begin > SLOW for call, _ in pairs),
        tiny=_share(length < TINY for length in lengths),
        tiny_time=sum(length for length in lengths if length < TINY) / sum(lengths),
        late_starts=_share(delay > LATE for delay in delays),
    )


def _share(conditions: Iterable[bool]) -> float:
    return statistics.fmean(conditions)


class Call(NamedTuple):
    """An operator call and its own time, without the operators that it calls."""

    event: Event
    own: float


def _calls(trace: Trace) -> Iterator[Call]:
    """The operator calls on the host: each thread's calls form trees."""
    lanes: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in trace.host:
        if event.kind in ("operator", "communication"):
            lanes[event.lane].append(event)
    for events in lanes.values():
        open_calls: list[tuple[Event, list[float]]] = []
        for event in events:
            while open_calls and open_calls[-1][0].end <= event.begin:
                yield _closed(*open_calls.pop())
            if open_calls:
                open_calls[-1][1].append(event.end - event.begin)
            open_calls.append((event, []))
        while open_calls:
            yield _closed(*open_calls.pop())


def _closed(event: Event, inner: list[float]) -> Call:
    return Call(event, max(0.0, event.end - event.begin - sum(inner)))


class _Shape(NamedTuple):
    """A tensor of which a trace contains the shape."""

    shape: tuple[int, ...]

    def stride(self) -> tuple[int, ...]:
        """Unknown; FLOP do not depend on it."""
        return (0,) * len(self.shape)


def counted(trace: Trace, steps: int) -> tuple[CountedOperator, ...]:
    """Products, convolutions and attention by shape; needs traces with `record_shapes`.

    The time is that of their kernels, or of the operator on a CPU.
    """
    kernels = _kernel_times_by_operator(trace)
    calls_by_operator: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for event in trace.host:
        flop = _flop(event)
        if flop:
            own = event.end - event.begin
            time = kernels.get(event.args.get("External id"), 0.0) if trace.device else own
            calls_by_operator[event.name, str(event.args["Input Dims"])].append((flop, time))
    rows = [
        CountedOperator(
            name=name,
            shapes=shapes,
            ms=sum(time for _, time in calls) / steps / 1000,
            calls=len(calls) / steps,
            flop=sum(flop for flop, _ in calls) / steps,
        )
        for (name, shapes), calls in calls_by_operator.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.ms))


def _kernel_times_by_operator(trace: Trace) -> dict[Any, float]:
    """Microseconds of kernels by the number of the operator that launched them."""
    times: dict[Any, float] = defaultdict(float)
    for event in trace.device:
        times[event.args.get("External id")] += event.end - event.begin
    return times


def _flop(event: Event) -> float:
    """FLOP of an operator, by the formulas of profiles; 0 if there are none."""
    sizes = event.args.get("Input Dims")
    # The attention that users call is counted in the operator that it chooses
    if event.kind != "operator" or not isinstance(sizes, list):
        return 0.0
    if event.name.endswith("::scaled_dot_product_attention"):
        return 0.0
    values = event.args.get("Concrete Inputs")
    values = values if isinstance(values, list) and len(values) == len(sizes) else [""] * len(sizes)
    args = [_argument(size, value) for size, value in zip(sizes, values, strict=True)]
    try:
        return float(described(event.name, args, _output(event.name, args))[0])
    except (IndexError, TypeError, AttributeError, ValueError):
        return 0.0  # a trace of another version may have other arguments


def _argument(size: Any, value: Any) -> Any:
    if isinstance(size, list) and size and all(isinstance(side, int) for side in size):
        return _Shape(tuple(size))
    text = str(value).strip()
    if text in ("True", "False"):
        return text == "True"
    if text.startswith("[") and text.endswith("]"):
        words = [word.strip() for word in text[1:-1].split(",") if word.strip()]
        return [word == "True" if word in ("True", "False") else int(word) for word in words]
    return value


def _output(name: str, args: list[Any]) -> Any:
    """The output of a convolution, whose size is not in the trace."""
    if name != "aten::convolution":
        return None
    images, filters, stride, padding, dilation = args[0], args[1], args[3], args[4], args[5]
    window = filters.shape[2:]
    sides = [
        (side + 2 * _at(padding, i) - _at(dilation, i) * (window[i] - 1) - 1) // _at(stride, i) + 1
        for i, side in enumerate(images.shape[2:])
    ]
    return _Shape((images.shape[0], filters.shape[0], *sides))


def _at(values: list[int], index: int) -> int:
    return values[index] if len(values) > 1 else values[0]


def sequences(trace: Trace, steps: int) -> tuple[Sequence, ...]:
    """The consecutive kernels of a stream that take the most time and occur at least twice.

    A sequence that shares two consecutive kernels with one in the report is omitted.
    """
    times_by_sequence: dict[tuple[str, ...], list[float]] = defaultdict(list)
    lanes: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in trace.launched:
        if event.kind == "kernel":
            lanes[event.lane].append(event)
    for events in lanes.values():
        for length in LENGTHS:
            for names, time in _runs(events, length):
                times_by_sequence[names].append(time)
    often = [(names, times) for names, times in times_by_sequence.items() if len(times) >= FEWEST]
    often.sort(key=lambda item: (-sum(item[1]), -len(item[0])))
    kept: list[Sequence] = []
    for names, times in often:
        if not any({*pairwise(names)} & {*pairwise(sequence.kernels)} for sequence in kept):
            calls, ms = len(times) / steps, sum(times) / steps / 1000
            kept.append(Sequence(kernels=names, calls=calls, ms=ms))
        if len(kept) == MOST:
            break
    return tuple(kept)


def _runs(events: list[Event], length: int) -> Iterator[tuple[tuple[str, ...], float]]:
    """Sequences of a length that do not overlap an equal one before them."""
    last: dict[tuple[str, ...], int] = {}
    for start in range(len(events) - length + 1):
        part = events[start : start + length]
        names = tuple(event.name for event in part)
        if start >= last.get(names, -length) + length:
            last[names] = start
            yield names, sum(event.end - event.begin for event in part)
