"""The peak rates of a device, measured along with a profile or kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from podium.reference_runs.profiling.clock import CLOCKS, clock_of, wait
from podium.reference_runs.profiling.profile import Roof

if TYPE_CHECKING:
    from collections.abc import Callable

TYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
SIZES = {"cpu": (1024, 1 << 26)}
LARGE = 8192, 1 << 30
"""Dimension of the product and bytes of the copy, on an accelerator."""
TRIES = 7


def measured_roof(device: torch.device, precision: str) -> Roof:
    """FLOP/s of a square matrix product in this precision, and bytes/s of a copy: best of a few."""
    side, size = SIZES.get(device.type, LARGE)
    matrix = torch.randn(side, side, device=device).to(TYPES[precision])
    data = torch.zeros(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(data)
    with torch.no_grad():
        product = _best(lambda: matrix @ matrix, device)
        copy = _best(lambda: target.copy_(data), device)
    # A copy reads and writes each byte
    return Roof(flop_per_s=2 * side**3 / product, bytes_per_s=2 * size / copy)


def _best(work: Callable[[], object], device: torch.device) -> float:
    clock = CLOCKS[clock_of(device)]
    seconds = []
    for _ in range(TRIES):
        wait(device)
        begin = clock()
        work()
        wait(device)
        seconds.append(clock() - begin)
    return min(seconds)
