"""A profile as data: the JSON of `podium profile`, and the input of every renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Not only for types: the schema is made from them
from podium.reference_runs.profiling.traces.report import (
    Collective,
    Launches,
    NamedTime,
    PathWork,
)

Level = Literal["bare", "run", "layers", "kernels"]
Clock = Literal["wall", "processor"]
Phase = Literal["forward", "backward", "optimizer", "loader", "communication", "other"]

FORMAT = 1
"""Incremented when a field is renamed or changes its meaning; new fields do not count."""


@dataclass(frozen=True, kw_only=True)
class LevelCost:
    """Milliseconds per step under one level, and the overhead relative to bare steps."""

    level: Level
    step_ms: float
    steps: int
    overhead: float
    """(Lower quartile of steps under the level / that of the interleaved bare steps) - 1."""
    noise: float | None
    """The same for one half of the bare steps relative to the other; None for a single turn."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """One block or evaluation in the log, in milliseconds from the first."""

    kind: Literal["block", "evaluation"]
    begin_ms: float
    end_ms: float


@dataclass(frozen=True, kw_only=True)
class GpuUsage:
    """The activity of a GPU in a time span, from NVML; None for unavailable values.

    Clocks in MHz, memory in bytes, power in watts, PCIe and NVLink in bytes per second.
    """

    busy: float | None = None
    """Fraction of the time with a running kernel."""
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
    """The load of the machine in a time span within one of the log's intervals.

    Times use the clock of the intervals. Transfers are in bytes per second of the whole machine,
    including other processes.
    """

    begin_ms: float
    end_ms: float
    interval: int
    """The index of its interval in `intervals`, from 0."""
    cpu: float
    """Busy fraction of the machine's CPUs."""
    processors: float
    """Average number of CPUs that this process and its children kept busy."""
    memory: int
    """Bytes in use on the machine at the end of the span."""
    resident: int
    """Resident bytes of this process at the end of the span."""
    disk_read: float
    disk_written: float
    network_received: float
    network_sent: float
    gpu: GpuUsage | None = None


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A module: milliseconds per step, with its submodules; `name` is empty for the model."""

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
    """The work of an operator: a kernel of the device, or the operator's own code on a CPU."""

    name: str
    ms: float
    calls: float


@dataclass(frozen=True, kw_only=True)
class Operator:
    """One operator in one module and phase, per step; submodules are not included.

    `bytes` are those of its tensors, each read or written once; caches may reduce the traffic.
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
    """FLOP per byte; None if FLOP are not counted."""
    roofline: float | None
    """Fraction of the device's peak at this intensity; None if FLOP are not counted."""
    kernels: tuple[Kernel, ...]


@dataclass(frozen=True, kw_only=True)
class StepPart:
    """A part of the recorded step, such as forward, backward or loader; milliseconds per step."""

    name: str
    ms: float


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A stretch of a recorded step: a phase on the host, or the device's work meanwhile.

    Milliseconds from the beginning of its step; steps count from 0.
    """

    step: int
    lane: str
    begin_ms: float
    end_ms: float


@dataclass(frozen=True, kw_only=True)
class Roof:
    """The device's measured peak: FLOP/s of a matrix product, bytes/s of a copy."""

    flop_per_s: float
    bytes_per_s: float

    def reachable(self, intensity: float) -> float:
        """FLOP/s that the device can reach at an intensity in FLOP per byte."""
        return min(self.flop_per_s, intensity * self.bytes_per_s)


Limited = Literal["computing", "memory", "reading data", "all-reduce"]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit of a rank: the work of a step, and the rate of the machine for it.

    The unit is FLOP for computing and bytes for the others.
    """

    name: Limited
    per_s: float
    """The rate, measured at the model's own sizes."""
    per_step: float
    ms: float
    """Milliseconds that the work of a step takes at this rate."""
    intensity: float | None
    """FLOP of the step per byte; None for computing."""


@dataclass(frozen=True, kw_only=True)
class Roofs:
    """All limits of a step on the first rank; a limit without work is absent."""

    limits: tuple[Limit, ...]
    binds: Limited
    """The limit whose work takes longest."""
    least_ms: float
    """The time of that work: no step that overlaps all work can be shorter at these rates."""
    step_ms: float
    """The median step of the run level."""


@dataclass(frozen=True, kw_only=True)
class DeviceLink:
    """The shortest link of two accelerators of the node, as nvidia-smi names it: NV18, SYS."""

    first: int
    second: int
    link: str


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A profile of one trainer, possibly incomplete; levels that are not done are absent."""

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
    """Maximum number of optimizer steps in a whole run."""
    topology: tuple[DeviceLink, ...] = ()
    """The links between the accelerators of the first node; empty if unknown."""
    complete: bool = False
    levels: tuple[LevelCost, ...] = ()
    steps_ms: tuple[float, ...] = ()
    """Each step of the run level."""
    intervals: tuple[Interval, ...] = ()
    usage: tuple[Usage, ...] = ()
    """Utilization during the intervals, in their order."""
    processors: tuple[float, ...] = ()
    """Average number of CPUs that each rank kept busy in the blocks of the run level."""
    notes: tuple[str, ...] = ()
    """Failed measurements, with their reasons."""
    layers: tuple[Layer, ...] = ()
    operators: tuple[Operator, ...] = ()
    parts: tuple[StepPart, ...] = ()
    timeline: tuple[Stretch, ...] = ()
    """The recorded steps of rank 0."""
    idle: tuple[NamedTime, ...] = ()
    """The idle time of the recorded steps by cause."""
    critical: tuple[NamedTime, ...] = ()
    """The critical path of the recorded steps by kind of work."""
    path: tuple[PathWork, ...] = ()
    """The longest work on the critical path."""
    launches: Launches | None = None
    collectives: tuple[Collective, ...] = ()
    """The collectives of all ranks."""
    roof: Roof | None = None
    roofs: Roofs | None = None
    """With `--roofs all`."""
    peak_memory: int | None = None
    """Peak bytes of tensors on the device; None on a CPU."""
