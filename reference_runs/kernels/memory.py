"""The available memory for a kernel, checked before its tensors are allocated."""

from __future__ import annotations

from pathlib import Path

import torch

from podium.reference_runs.kernels.problems import AllReduce, Problem, SparseGemm, bytes_of

ROOM = 1.5
"""Estimated memory as a multiple of a kernel's tensors: libraries need separate buffers."""


def needed(problem: Problem, precision: str) -> float:
    """Estimated number of bytes that a kernel allocates."""
    size = bytes_of(problem, precision)
    if isinstance(problem, SparseGemm):
        # The zeros are drawn in a dense matrix
        size += 5 * problem.m * problem.k
    if isinstance(problem, AllReduce):
        size *= 2
    return size * ROOM


def available(device: torch.device) -> float | None:
    """Free bytes of a device; None if unknown."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    if device.type == "mps":
        limit = torch.mps.recommended_max_memory()
        return float(limit - torch.mps.driver_allocated_memory())
    known = [free for free in (_of_machine(), _of_group()) if free is not None]
    return min(known, default=None)


def _of_machine() -> float | None:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return None


def _of_group() -> float | None:
    """Bytes left under a container's limit (cgroup 2); its page cache is reclaimable."""
    limit, used = _read("/sys/fs/cgroup/memory.max"), _read("/sys/fs/cgroup/memory.current")
    if not limit.strip().isdigit() or not used.strip().isdigit():
        return None
    stats = dict(line.split() for line in _read("/sys/fs/cgroup/memory.stat").splitlines())
    return float(int(limit) - int(used) + int(stats.get("inactive_file", 0)))


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
