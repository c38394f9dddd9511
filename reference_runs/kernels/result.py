"""Measured kernels as data: what `podium kernels` writes as JSON and every rendering reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from podium.reference_runs.kernels.problems import Kind, Problem
from podium.reference_runs.profiling.profile import Clock, Roof

FORMAT = 1
"""Rises when a field is renamed or changes its meaning; new fields do not raise it."""

Status = Literal["measured", "skipped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Milliseconds of one call. Warm calls follow each other; before a cold one caches are filled.

    The first call of all also allocates and chooses code; it is told apart from both.
    """

    first_ms: float
    cold_ms: float | None
    """Median of a few calls, each after writing more than caches hold; None where not taken."""
    median_ms: float
    """Of warm calls."""
    low_ms: float
    high_ms: float
    """The 95 % interval of the median, by order statistics."""
    spread: float
    """(Upper - lower quartile) / median of warm calls."""
    repeats: int
    """Samples of warm calls; short calls are taken several to a sample."""
    clock_mhz: float | None = None
    """The device's clock, where it tells."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A problem and what became of it. Skipped: not supported, no room, or no time left for it."""

    problem: Problem
    status: Status
    flop: float
    bytes: float
    count: float = 1
    """Calls per step, of a trainer's kernels."""
    in_step_ms: float | None = None
    """What all its calls take in one step, called in the step's order on the step's tensors."""
    reason: str = ""
    timing: Timing | None = None
    tflops: float | None = None
    """FLOP of a warm call by its median time, in 10^12 per second; None without FLOP."""
    gb_per_s: float | None = None
    """Bytes likewise, in 10^9 per second."""
    flop_share: float | None = None
    """Of the FLOP/s of the large product measured in the same run."""
    bandwidth_share: float | None = None
    """Of the bytes/s of the copy measured in the same run."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """A trainer's step with nothing on: lower quartile of so many, by the clock of its kernels."""

    steps: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Share:
    """What kernels of one kind take of a step, called in its order on its tensors.

    `alone_ms` are the same calls by themselves, one kernel at a time and warm.
    """

    kind: Kind
    calls: float
    ms: float
    share: float
    alone_ms: float


@dataclass(frozen=True, kw_only=True)
class KernelRun:
    """One run as far as it has come."""

    format: int = FORMAT
    source: str
    """`deepbench training`, or a trainer and its scale."""
    device: str
    device_name: str
    clock: Clock
    """What times are by: those of one thread by the processor's own time, all else by the wall."""
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
    """Share of the step that all kernels take together."""
    kernels: tuple[Measured, ...] = ()
