"""The present clock rate of a device, if it is available."""

from __future__ import annotations

import re
from pathlib import Path

import torch

_LISTED = Path("/proc/cpuinfo")
_MHZ = re.compile(r"^cpu MHz\s*:\s*([\d.]+)", re.MULTILINE)


def clock_mhz(device: torch.device) -> float | None:
    """Megahertz of a GPU's multiprocessors or of the fastest core now; None if unknown."""
    if device.type == "cuda":
        return _of_gpu(device)
    return _of_processor() if device.type == "cpu" else None


def _of_gpu(device: torch.device) -> float | None:
    try:
        return float(torch.cuda.clock_rate(device))
    # Without NVML's or ROCm's library, or if the driver does not answer
    except (RuntimeError, ImportError, AttributeError, OSError):
        return None


def _of_processor() -> float | None:
    try:
        text = _LISTED.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    clocks = [float(match) for match in _MHZ.findall(text)]
    return max(clocks, default=None)
