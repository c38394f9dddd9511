"""Measured kernels as data: the JSON of `podium kernels`, and the input of every renderer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from podium.reference_runs.kernels.problems import Kind, Problem
from podium.reference_runs.profiling.profile import Clock, Roof

FORMAT = 1
"""Incremented when a field is renamed or changes its meaning; new fields do not count."""

Status = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Milliseconds of one call. Warm calls are consecutive; a cold call follows a cache eviction.

    The very first call also allocates and selects code; it is reported separately.
    """

    first_ms: float
    cold_ms: float | None
    """Median of a few calls, each after overwriting the caches; None if not measured."""
    median_ms: float
    """Median of warm calls."""
    low_ms: float
    high_ms: float
    """The 95 % interval of the median, from order statistics."""
    spread: float
    """(Upper - lower quartile) / median of warm calls."""
    repeats: int
    """Samples of warm calls; a sample combines several short calls."""
    clock_mhz: float | None = None
    """The clock rate of the device, if available."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A problem and its result. Skipped: unsupported, too large, or no time left."""

    problem: Problem
    status: Status
    flop: float
    bytes: float
    count: float = 1
    """Calls per step, for a trainer's kernels."""
    in_step_ms: float | None = None
    """Time of all calls in one step, in the step's order on the step's tensors."""
    reason: str = ""
    timing: Timing | None = None
    tflops: float | None = None
    """FLOP of a warm call / its median time, in 10^12 per second; None without FLOP."""
    gb_per_s: float | None = None
    """Bytes of a warm call / its median time, in 10^9 per second."""
    flop_share: float | None = None
    """Fraction of the FLOP/s of the large product measured in the same run."""
    bandwidth_share: float | None = None
    """Fraction of the bytes/s of the copy measured in the same run."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A trainer's step without measurement: lower quartile of `steps`, by the kernels' clock."""

    steps: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Share:
    """The part of a step that kernels of one kind take, in its order on its tensors.

    `alone_ms` is the time of the same calls in isolation, one kernel at a time and warm.
    """

    kind: Kind
    calls: float
    ms: float
    share: float
    alone_ms: float


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """One run, as far as it has been measured."""

    format: int = FORMAT
    source: str
    """`deepbench training`, or a trainer and its scale."""
    device: str
    device_name: str
    clock: Clock
    """The clock: CPU time of the process for one thread, otherwise wall time."""
    precision: str
    threads: int
    ranks: int
    torch: str
    complete: bool = False
    budget_s: float | None = None
    notes: tuple[str, ...] = ()
    roof: Roof | None = None
    step: Step | None = None
    shares: tuple[Share, ...] = ()
    explained: float | None = None
    """Fraction of the step in all kernels together."""
    kernels: tuple[Measured, ...] = ()
