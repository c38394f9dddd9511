"""A recording of some steps in a logged run, for `podium run --trace`."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from podium.reference_runs.profiling.kernels import STEPS, recorded
from podium.reference_runs.profiling.text import DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import torch
    from torch import nn

    from podium.reference_runs.profiling.kernels import RecordedKernels


@contextmanager
def traced_steps(
    path: Path, device: torch.device, model: nn.Module
) -> Iterator[tuple[Callable[[], None], Callable[[], str]]]:
    """Yields a function to call after each step, and one that returns the tables at the end."""
    tables: list[str] = []
    with recorded(
        path, device, model, lambda recorded_kernels: tables.append(_tables(recorded_kernels))
    ) as recording:
        yield recording.profiler.step, lambda: "".join(tables)


def _tables(recording: RecordedKernels) -> str:
    kernels: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for named in recording.kernels.values():
        for name, (time, calls) in named.items():
            kernels[name] = kernels[name][0] + time, kernels[name][1] + calls
    total = sum(time for time, _ in kernels.values())
    lines = [f"model: {total / STEPS / 1000:.2f} ms of work per step ({STEPS} steps)"]
    lines += ["", "layers, forward pass (ms per step; a layer includes its sublayers):"]
    lines += [
        _row(name, time)
        for name, time in recording.layers.items()
        if name and name.count(".") < DEPTH
    ]
    lines += ["", "kernels (ms per step, and calls in all steps):"]
    longest = sorted(kernels.items(), key=lambda item: -item[1][0])[:15]
    lines += [f"{_row(name[:48], time)}  x{calls}" for name, (time, calls) in longest]
    return "\n".join(lines)


def _row(name: str, microseconds: float) -> str:
    return f"  {name:<50}{microseconds / STEPS / 1000:>10.3f}"
