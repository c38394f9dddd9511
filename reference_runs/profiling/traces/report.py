"""The analysis of traces as data: the JSON of `podium profile read`, and a part of profiles."""

from __future__ import annotations

from dataclasses import dataclass

FORMAT = 1
"""Incremented when a field is renamed or changes its meaning; new fields do not count."""


@dataclass(frozen=True, kw_only=True)
class NamedTime:
    """Milliseconds per step with a name: a part of the time, a cause, a kind of work."""

    name: str
    ms: float


@dataclass(frozen=True, kw_only=True)
class PathWork:
    """Work on the critical path, in milliseconds per step and segments of all steps."""

    kind: str
    name: str
    ms: float
    segments: int


@dataclass(frozen=True, kw_only=True)
class Launches:
    """The launches of device work: calls per step, and delays from the call to the start."""

    per_step: float
    median_delay_us: float
    longest_delay_us: float
    short: float
    """Fraction of the kernels that are shorter than the call that launched them."""
    longest_queue: int
    """Maximum number of launched kernels that had not started."""
    slow_calls: float
    """Fraction of the calls that take more than 50 us."""
    tiny: float
    """Fraction of the kernels that take less than 10 us."""
    tiny_time: float
    """Their fraction of the time of all kernels."""
    late_starts: float
    """Fraction of the kernels that start more than 100 us after the call."""


@dataclass(frozen=True, kw_only=True)
class KernelTime:
    """A kernel, or an operator on a CPU: milliseconds and calls per step."""

    name: str
    ms: float
    calls: float
    share: float
    """Fraction of the time of all kernels."""
    shortest_us: float
    longest_us: float


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """The operators with one name that launch kernels, per step; of nested ones the innermost."""

    name: str
    ms: float
    """Time of the kernels and copies."""
    calls: float
    kernels: float
    share: float
    """Fraction of the time of all kernels and copies."""


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Copies or fills of memory of one kind, per step."""

    name: str
    ms: float
    calls: float
    bytes: float | None
    """None if the trace does not contain them."""
    bytes_per_s: float | None


@dataclass(frozen=True, kw_only=True)
class Annotation:
    """The ranges of `record_function` with one name, per step; a number after `#` is ignored."""

    name: str
    calls: float
    host_ms: float
    device_ms: float
    """Time of the kernels and copies that any thread launches during the range."""
    shortest_ms: float
    """The shortest call on the host."""
    longest_ms: float


@dataclass(frozen=True, kw_only=True)
class CountedOperator:
    """A product, convolution or attention with one set of input shapes, per step."""

    name: str
    shapes: str
    ms: float
    calls: float
    flop: float

    @property
    def rate(self) -> float | None:
        """FLOP/s; None without time."""
        return self.flop / self.ms * 1000 if self.ms else None


@dataclass(frozen=True, kw_only=True)
class Sequence:
    """Consecutive kernels of a stream that occur often; milliseconds per step."""

    kernels: tuple[str, ...]
    calls: float
    ms: float


@dataclass(frozen=True, kw_only=True)
class RankTrace:
    """One rank's trace; times in milliseconds per step."""

    file: str
    rank: int
    ranks: int
    steps: int
    """The marked steps; 1 for the whole trace if none are marked."""
    marked: bool
    step_ms: float
    on_device: bool
    """Whether a device did the work, not the CPU."""
    parts: tuple[NamedTime, ...]
    """Times that add up to the step, and `communication, overlapped`."""
    idle: tuple[NamedTime, ...]
    """The idle time by cause."""
    critical: tuple[NamedTime, ...]
    """The critical path by kind of work; it adds up to the step."""
    path: tuple[PathWork, ...]
    """The longest work on the critical path."""
    launches: Launches | None
    kernels: tuple[KernelTime, ...]
    launchers: tuple[Launcher, ...]
    """Empty in a trace of a CPU, where `kernels` are operators."""
    copies: tuple[Copies, ...]
    annotations: tuple[Annotation, ...]
    """With the marked steps, as `ProfilerStep`."""
    counted: tuple[CountedOperator, ...]
    sequences: tuple[Sequence, ...]


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One kind of collective across ranks; times in milliseconds per call.

    A collective ends at the same time on all ranks, so that the rank with the shortest call joined
    last: its time is the transfer, and the rest of the longest call is skew. This needs no common
    clock.
    """

    name: str
    group: str
    calls: int
    """Calls in all steps that every rank has."""
    bytes: float | None
    """Bytes per call and rank; None if the trace does not contain them."""
    ms: float
    """Mean over calls and ranks."""
    transfer_ms: float
    skew_ms: float
    longest_skew_ms: float
    last_rank: int
    """The rank that joined last most often."""
    last_share: float
    """Fraction of the calls in which it joined last."""
    bus_bytes_per_s: float | None
    """Bytes per second on each link of a ring; None if bytes are unknown."""


@dataclass(frozen=True, kw_only=True)
class TraceReport:
    """Traces of the ranks of one program."""

    format: int = FORMAT
    ranks: tuple[RankTrace, ...]
    collectives: tuple[Collective, ...] = ()
    notes: tuple[str, ...] = ()
