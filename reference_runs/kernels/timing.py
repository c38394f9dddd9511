"""The time of a call: repeated until its median is precise, warm and cold calls separately."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from podium.reference_runs.kernels.clocks import clock_mhz
from podium.reference_runs.kernels.result import Timing
from podium.reference_runs.profiling.clock import CLOCKS, clock_of, wait

NARROW = 0.02
"""Target width of the median's confidence interval, relative to the median."""
FEWEST, MOST = 5, 300
"""Minimum and maximum number of samples of warm calls."""
FEWEST_LATE = 2
"""Minimum number of samples of warm calls once the time limit of a kernel has passed."""
COLD_CALLS = 3
SAMPLE_S = {"cpu": 2e-4}
"""Minimum seconds of a sample, which combines short calls, by type of device."""
LONG_SAMPLE_S = 1e-3
"""The same for all other devices, which are slow to wait for."""

EVICTED = {"cpu": 1 << 26}
"""Bytes written before a cold call: more than the last cache of most CPUs."""
EVICTED_ELSEWHERE = 1 << 28
"""The same for accelerators."""


@dataclass(frozen=True)
class Prepared:
    """A kernel with its tensors: `call` runs it, `restore` resets the tensors that it changed."""

    call: Callable[[], object]
    restore: Callable[[], object] | None = None


class Stopwatch:
    """Times kernels on a device; `limit_s` is the time limit of a kernel after its first call."""

    def __init__(self, device: torch.device, limit_s: float) -> None:
        self._device, self._limit = device, limit_s
        self._now = CLOCKS[clock_of(device)]
        self._sample = SAMPLE_S.get(device.type, LONG_SAMPLE_S)
        size = EVICTED.get(device.type, EVICTED_ELSEWHERE)
        self._evicted = torch.zeros(size // 4, device=device)

    def timing(self, kernel: Prepared) -> Timing:
        """The times of a kernel; its exceptions propagate to the caller."""
        end = time.perf_counter() + self._limit
        first = self._taken(kernel, 1)
        clock = clock_mhz(self._device)
        cold = self._cold(kernel, end)
        warm = self._warm(kernel, end, min(first, *cold))
        return timing(
            warm,
            first=first,
            cold=statistics.median(cold),
            clock=_mean(clock, clock_mhz(self._device)),
        )

    def _cold(self, kernel: Prepared, end: float) -> list[float]:
        times: list[float] = []
        while len(times) < COLD_CALLS and not (times and time.perf_counter() > end):
            self._evicted.add_(1)
            times.append(self._taken(kernel, 1))
        return times

    def _warm(self, kernel: Prepared, end: float, once: float) -> list[float]:
        if once < self._sample:
            # A cold call of a short kernel does not predict the time of a warm one
            once = self._taken(kernel, 10)
        together = max(1, min(1000, math.ceil(self._sample / max(once, 1e-7))))
        times: list[float] = []
        while len(times) < MOST:
            times.append(self._taken(kernel, together))
            late = time.perf_counter() > end
            if len(times) < (FEWEST_LATE if late else FEWEST):
                continue
            if late or narrow(times):
                break
        return times

    def _taken(self, kernel: Prepared, calls: int) -> float:
        """Seconds of each of several calls."""
        if kernel.restore is not None:
            kernel.restore()
        call, now = kernel.call, self._now
        wait(self._device)
        begin = now()
        for _ in range(calls):
            call()
        wait(self._device)
        return (now() - begin) / calls


def timing(
    warm: Sequence[float],
    *,
    first: float,
    cold: float | None,
    clock: float | None = None,
) -> Timing:
    """Statistics of samples in seconds; `warm` must not be empty."""
    low, high = median_interval(warm)
    middle = statistics.median(warm)
    quartiles = statistics.quantiles(warm, n=4) if len(warm) > 1 else [middle] * 3
    return Timing(
        first_ms=first * 1000,
        cold_ms=None if cold is None else cold * 1000,
        median_ms=middle * 1000,
        low_ms=low * 1000,
        high_ms=high * 1000,
        spread=(quartiles[2] - quartiles[0]) / middle if middle else 0.0,
        repeats=len(warm),
        clock_mhz=clock,
    )


def median_interval(samples: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by the normal approximation of order statistics' ranks."""
    ordered, count = sorted(samples), len(samples)
    half = 1.96 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half))
    high = min(count - 1, math.ceil(count / 2 + half) - 1)
    return ordered[low], ordered[max(high, low)]


def narrow(samples: Sequence[float]) -> bool:
    """Whether the median's interval is narrow enough."""
    low, high = median_interval(samples)
    return high - low <= NARROW * statistics.median(samples)


def _mean(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
