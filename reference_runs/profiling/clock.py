"""What a device's work is timed by."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from podium.reference_runs.profiling.profile import Clock


def wait(device: torch.device) -> None:
    """Wait until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def clock_of(device: torch.device) -> Clock:
    """What a device's calls are timed by.

    One thread on a processor: its own time, which does not count what others do beside it.
    """
    alone = device.type == "cpu" and torch.get_num_threads() == 1
    return "processor" if alone else "wall"


CLOCKS: dict[Clock, Callable[[], float]] = {
    "processor": time.process_time,
    "wall": time.perf_counter,
}
