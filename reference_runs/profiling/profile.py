"""A profile as data: what `podium profile` writes as JSON and every rendering reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["bare", "run", "layers", "kernels"]
Clock = Literal["wall", "processor"]
Phase = Literal["forward", "backward", "optimizer", "loader", "communication", "other"]

FORMAT = 1
"""Rises when a field is renamed or changes its meaning; new fields do not raise it."""


@dataclass(frozen=True, kw_only=True)
class LevelCost:
    """Milliseconds per step under one level, and how much longer that is than without any."""

    level: Level
    step_ms: float
    steps: int
    overhead: float
    """(Lower quartile of steps under the level / that of the bare steps beside them) - 1."""
    noise: float | None
    """The same of one half of these bare steps against the other; None for a single turn."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One block or evaluation as the log has it, in milliseconds from the first."""

    kind: Literal["block", "evaluation"]
    begin_ms: float
    end_ms: float


@dataclass(frozen=True, kw_only=True)
class GpuUsage:
    """What a GPU did in a span of time, by NVML; None where it does not tell.

    Clocks in MHz, memory in bytes, power in watts, PCIe and NVLink in bytes per second.
    """

    busy: float | None = None
    """Share of the time in which a kernel ran."""
    memory: int | None = None
    sm_clock: float | None = None
    memory_clock: float | None = None
    power: float | None = None
    pcie_received: float | None = None
    pcie_sent: float | None = None
    nvlink_received: float | None = None
    nvlink_sent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """How busy the machine was in a span of one of the log's intervals.

    Times are those of the intervals; what is read and sent is in bytes per second and of the whole
    machine, whoever does it.
    """

    begin_ms: float
    end_ms: float
    interval: int
    """Which of `intervals` it lies in, from 0."""
    cpu: float
    """Share of the machine's processors that was busy."""
    processors: float
    """Processors that this process and those that it started kept busy."""
    memory: int
    """Bytes in use on the machine at the end of the span."""
    resident: int
    """Bytes of this process in memory at the end of the span."""
    disk_read: float
    disk_written: float
    network_received: float
    network_sent: float
    gpu: GpuUsage | None = None


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A module: milliseconds per step, those below it included; `name` is empty for the model."""

    name: str
    kind: str
    forward_ms: float
    backward_ms: float
    calls: float
    """Forward passes per step."""
    parameters: int
    flop: float = 0
    bytes: float = 0
    allocated: float = 0
    kernel_ms: float = 0


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """What an operator ran: a kernel of the device, or the operator's own code on a processor."""

    name: str
    ms: float
    calls: float


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One operator in one module and phase, per step; modules below are not included.

    `bytes` are those of its tensors, read and written once; caches may save some.
    """

    module: str
    phase: Phase
    name: str
    ms: float
    calls: float
    flop: float
    bytes: float
    allocated: float
    intensity: float | None
    """FLOP per byte; None where no FLOP are counted."""
    roofline: float | None
    """Share of what the device could do at this intensity; None likewise."""
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, kw_only=True)
class StepPart:
    """A part of the recorded step: forward, backward, loader and so on; milliseconds per step."""

    name: str
    ms: float


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A part of a recorded step: a phase on the host, or what the device did meanwhile.

    Milliseconds from the begin of its step, which is counted from 0.
    """

    step: int
    lane: str
    begin_ms: float
    end_ms: float


@dataclass(frozen=True, kw_only=True)
class Roof:
    """What the device does at best, as measured here: FLOP/s of a product, bytes/s of a copy."""

    flop_per_s: float
    bytes_per_s: float

    def reachable(self, intensity: float) -> float:
        """FLOP/s that the device can reach at so many FLOP per byte."""
        return min(self.flop_per_s, intensity * self.bytes_per_s)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One trainer's profile as far as it has come; levels that are not done are absent."""

    format: int = FORMAT
    benchmark: str
    scale: str
    device: str
    device_name: str
    precision: str
    compiled: bool
    ranks: int
    threads: int
    torch: str
    global_batch_size: int
    last_step: int
    """Optimizer steps of a whole run, at most."""
    complete: bool = False
    levels: tuple[LevelCost, ...] = ()
    steps_ms: tuple[float, ...] = ()
    """Each step of the run level."""
    intervals: tuple[Interval, ...] = ()
    usage: tuple[Usage, ...] = ()
    """Of the intervals, in their order."""
    processors: tuple[float, ...] = ()
    """Processors that each rank kept busy in the blocks of the run level."""
    notes: tuple[str, ...] = ()
    """What could not be measured, and why."""
    layers: tuple[Layer, ...] = ()
    operators: tuple[Operator, ...] = ()
    parts: tuple[StepPart, ...] = ()
    timeline: tuple[Stretch, ...] = ()
    """The recorded steps of the first rank."""
    roof: Roof | None = None
    peak_memory: int | None = None
    """Bytes of the device that tensors held at most; None on a processor."""
