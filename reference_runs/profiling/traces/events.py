"""The timed events of a Chrome trace that torch.profiler wrote."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from podium.reference_runs.profiling.spans import Span

Kind = Literal["operator", "range", "launch", "kernel", "copy", "communication"]

_KINDS: dict[str, Kind] = {
    "cpu_op": "operator",
    "operator": "operator",
    "user_annotation": "range",
    "cuda_runtime": "launch",
    "cuda_driver": "launch",
    "runtime": "launch",
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "copy",
    "memcpy": "copy",
    "memset": "copy",
}
"""The kinds of events, by category; versions before 1.13 of torch use other names."""
_ON_DEVICE = ("kernel", "copy", "communication")
_COLLECTIVE_KERNELS = ("nccl", "rccl", "ncclkernel", "ncclDevKernel")
_HOST_COLLECTIVES = "gloo:"
STEP, LOADER = "ProfilerStep", "enumerate(DataLoader)"
LAUNCHES = ("launch", "memcpy", "memset", "graphlaunch")
"""Parts of the names of runtime calls that start work on a device."""


class Event(NamedTuple):
    """One timed event, in microseconds; `lane` is a thread, or a stream of a device."""

    name: str
    kind: Kind
    begin: float
    end: float
    lane: tuple[str, str]
    args: Mapping[str, Any]

    @property
    def span(self) -> Span:
        """Begin and end."""
        return self.begin, self.end

    @property
    def correlation(self) -> int | None:
        """The number that a kernel or copy shares with the call that started it."""
        value = self.args.get("correlation")
        return value if isinstance(value, int) else None


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The events of one rank, each list in the order of time."""

    name: str
    rank: int
    ranks: int
    host: tuple[Event, ...]
    """Operators, ranges and calls of the runtime of the device."""
    device: tuple[Event, ...]
    """Kernels and copies; empty if the CPU does the work."""
    steps: tuple[Event, ...]
    """The marked steps; empty if the trace has none."""

    @cached_property
    def window(self) -> Span:
        """The analyzed time: from the first step to the last, with its work on the device."""
        marks = self.steps or self.host or self.device
        begin = min(event.begin for event in marks)
        ends = [*(event.end for event in marks), *(event.end for event in self.device)]
        return begin, max(ends)

    @cached_property
    def launches(self) -> Mapping[int | None, Event]:
        """The runtime call that started each kernel or copy, by correlation."""
        return {
            event.correlation: event
            for event in self.host
            if event.kind == "launch"
            and any(word in event.name.lower() for word in LAUNCHES)
            and event.correlation is not None
        }

    @cached_property
    def launched(self) -> tuple[Event, ...]:
        """The work of the device that the steps of the trace launched."""
        return tuple(event for event in self.device if event.begin >= self._begin_of(event))

    @cached_property
    def earlier(self) -> tuple[Event, ...]:
        """The work of the device that steps before those of the trace launched."""
        return tuple(event for event in self.device if event.begin < self._begin_of(event))

    def _begin_of(self, event: Event) -> float:
        return self._first_launched.get(event.lane, self.window[0])

    @cached_property
    def _first_launched(self) -> Mapping[tuple[str, str], float]:
        """The begin of the first recorded work of each stream.

        A stream runs its work in order. Work that comes before the first recorded launch was in the
        queue when the trace began.
        """
        first: dict[tuple[str, str], float] = {}
        for event in self.device:
            launch = self.launches.get(event.correlation)
            if launch is not None and launch.begin >= self.window[0]:
                first.setdefault(event.lane, event.begin)
        return first


def read_trace(path: Path) -> Trace:
    """The trace in a file, which may be compressed with gzip; raises RunFault."""
    data = _json(path)
    rows = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise RunFault(
            f"{path} is not a trace: expected traceEvents, as torch.profiler writes them"
        )
    events = sorted(_timed(path, rows), key=lambda event: (event.begin, -event.end))
    if not events:
        raise RunFault(f"{path} has no timed events of torch.profiler")
    info = data.get("distributedInfo") if isinstance(data, dict) else None
    info = info if isinstance(info, dict) else {}
    host = [event for event in events if event.kind not in _ON_DEVICE or _on_host(event)]
    return Trace(
        name=str(path),
        rank=_whole(info.get("rank"), 0),
        ranks=_whole(info.get("world_size"), 1),
        host=tuple(host),
        device=tuple(
            event
            for event in events
            if event.kind in _ON_DEVICE and not _on_host(event) and event.end > event.begin
        ),
        steps=tuple(
            event for event in host if event.kind == "range" and event.name.startswith(STEP)
        ),
    )


def _on_host(event: Event) -> bool:
    return event.name.startswith(_HOST_COLLECTIVES)


def _whole(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _json(path: Path) -> Any:
    try:
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise RunFault(f"{path} is not complete gzip data") from None
    except OSError as error:
        raise RunFault(f"{path} cannot be read: {error.strerror}") from None
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        where = f"{error.msg.removesuffix(' at')} at line {error.lineno} column {error.colno}"
        raise RunFault(f"{path} is not complete JSON: {where}") from None
    except (ValueError, RecursionError):
        raise RunFault(f"{path} is not JSON") from None


def _timed(path: Path, rows: Iterable[Any]) -> Iterable[Event]:
    """The complete events with a known category."""
    for index, row in enumerate(rows):
        if not isinstance(row, dict) or row.get("ph") != "X":
            continue
        kind = _KINDS.get(str(row.get("cat", "")).lower())
        if kind is None:
            continue
        try:
            begin, length = float(row["ts"]), float(row.get("dur", 0))
        except (KeyError, TypeError, ValueError):
            begin = length = math.nan
        if not math.isfinite(begin + length) or length < 0:
            raise RunFault(f"{path}: event {index} of the trace has no valid time")
        name, args = str(row.get("name", "")), row.get("args")
        yield Event(
            name,
            _communicates(kind, name) or kind,
            begin,
            begin + length,
            (str(row.get("pid")), str(row.get("tid"))),
            args if isinstance(args, dict) else {},
        )


def _communicates(kind: Kind, name: str) -> Kind | None:
    on_device = kind == "kernel" and name.startswith(_COLLECTIVE_KERNELS)
    return "communication" if on_device or name.startswith(_HOST_COLLECTIVES) else None
