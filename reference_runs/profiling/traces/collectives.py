"""Collectives across ranks: transfer, skew, the rank that joins last, and bandwidth."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.reference_runs.profiling.traces.report import Collective

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from podium.reference_runs.profiling.traces.events import Event, Trace

WIDTHS = {
    **dict.fromkeys(("Byte", "Char", "Bool", "Float8_e4m3fn", "Float8_e5m2"), 1),
    **dict.fromkeys(("Half", "BFloat16", "Short"), 2),
    **dict.fromkeys(("Float", "Int"), 4),
    **dict.fromkeys(("Double", "Long"), 8),
}
"""Bytes of an element, by torch's names of types."""


class Key(NamedTuple):
    """Collectives that follow each other in the same order on all ranks."""

    name: str
    group: str
    bytes: float | None


class Call(NamedTuple):
    """A call of a collective on one rank: microseconds, and the size of its group."""

    length: float
    size: int


def calls_of(trace: Trace) -> dict[Key, list[Call]]:
    """The collectives of one rank, in the order of time."""
    calls: dict[Key, list[Call]] = defaultdict(list)
    for event in sorted((*trace.host, *trace.device), key=lambda event: event.begin):
        if event.kind == "communication":
            size = event.args.get("Group size")
            count = size if isinstance(size, int) else trace.ranks
            calls[_key(event)].append(Call(event.end - event.begin, count))
    return dict(calls)


def _key(event: Event) -> Key:
    name = str(event.args.get("Collective name") or event.name)
    group = str(event.args.get("Process Group Name", ""))
    sizes = [_whole(event.args.get(f"{way} msg nelems")) for way in ("In", "Out")]
    width = WIDTHS.get(str(event.args.get("dtype")))
    return Key(name, group, float(max(sizes) * width) if width and max(sizes) else None)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


def collectives_of(
    calls: Sequence[tuple[int, dict[Key, list[Call]]]],
) -> tuple[Collective, ...]:
    """The collectives of several ranks, from the calls of each; the longest first."""
    made = [*_collectives(calls)]
    return tuple(sorted(made, key=lambda collective: -collective.ms * collective.calls))


def _collectives(
    calls: Sequence[tuple[int, dict[Key, list[Call]]]],
) -> Iterator[Collective]:
    for key in dict.fromkeys(key for _, calls_by_key in calls for key in calls_by_key):
        numbers = [rank for rank, calls_by_key in calls if key in calls_by_key]
        rows = [calls_by_key[key] for _, calls_by_key in calls if key in calls_by_key]
        count = min(map(len, rows))
        # A trace may begin in the middle of a step: the last calls belong together
        matched = [*zip(*(row[-count:] for row in rows), strict=True)]
        lengths = [[call.length / 1000 for call in same] for same in matched]
        skews = [max(durations) - min(durations) for durations in lengths]
        last = Counter(
            numbers[durations.index(min(durations))] for durations in lengths
        ).most_common(1)[0]
        transfer = statistics.fmean(min(durations) for durations in lengths)
        yield Collective(
            name=key.name,
            group=key.group,
            calls=count,
            bytes=key.bytes,
            ms=statistics.fmean(ms for durations in lengths for ms in durations),
            transfer_ms=transfer,
            skew_ms=statistics.fmean(skews),
            longest_skew_ms=max(skews),
            last_rank=last[0],
            last_share=last[1] / count,
            bus_bytes_per_s=_on_each_link(key, rows[0][0].size, transfer),
        )


def _on_each_link(key: Key, ranks: int, ms: float) -> float | None:
    """Bytes per second on each link of a ring, as NCCL's tests compute the bus bandwidth."""
    if key.bytes is None or not ms or ranks < 2:
        return None
    name = key.name.lower().replace("_", "")
    share = (ranks - 1) / ranks
    if "allreduce" in name:
        share *= 2
    elif not any(word in name for word in ("allgather", "reducescatter", "alltoall")):
        share = 1.0
    return key.bytes * share / ms * 1000
