"""The clocks that time a device's work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.reference_runs.profiling.profile import Clock


def wait(device: torch.device) -> None:
    """Wait until the device has finished its queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def clock_of(device: torch.device) -> Clock:
    """The clock for a device's calls.

    For one thread on a CPU it is the thread's CPU time, which excludes other processes.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    return "processor" if alone else "wall"


CLOCKS: dict[Clock, Callable[[], float]] = {
    "processor": time.process_time,
    "wall": time.perf_counter,
}
