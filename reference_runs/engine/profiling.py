"""Where a step's time goes: a trace for a viewer, and tables by model, layer and kernel."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch import nn
    from torch.utils.hooks import RemovableHandle

WARM_UP, STEPS = 3, 5
"""Steps before recording (first calls allocate and tune), and steps recorded."""

LAYER = "layer "
DEPTH = 3
"""Layers have a row of their own down to paths of three names, such as blocks.0.attention."""


class Profile:
    """The profile of a few steps; `tables` holds its text once these are over."""

    def __init__(self, path: Path, device: torch.device) -> None:
        self.path = path
        self.tables = ""
        self._cuda = device.type == "cuda"
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self._cuda else [])]
        self.profiler = profile(
            activities=kinds,
            schedule=schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1),
            on_trace_ready=self._finished,
            acc_events=True,  # or it warns that it forgets: there is one cycle
        )

    def _finished(self, profiler: Any) -> None:
        # Renamed into place, so that no viewer opens half a trace
        draft = self.path.with_name(f".{self.path.name}.draft.json")
        profiler.export_chrome_trace(str(draft))
        draft.replace(self.path)
        sort = "self_device_time_total" if self._cuda else "self_cpu_time_total"
        events = profiler.key_averages()
        work = host = [event for event in events if event.device_type.name == "CPU"]
        layers = [event for event in host if event.key.startswith(LAYER)]
        if self._cuda:
            # The host's named ranges come again as the device's, where they hold idle time, too.
            ranges = {event.key for event in host}
            work = [event for event in events if event.key not in ranges]
        total = sum(getattr(event, sort) for event in work)
        kernels = [event for event in work if not event.key.startswith((LAYER, "ProfilerStep"))]
        kernels.sort(key=lambda event: -getattr(event, sort))
        lines = [f"model: {total / STEPS / 1000:.2f} ms of work per step ({STEPS} steps)"]
        lines += ["", "layers, forward pass (ms per step; a layer holds those below it):"]
        lines += [
            _row(event.key.removeprefix(LAYER), _total(event, self._cuda)) for event in layers
        ]
        lines += ["", "kernels (ms per step, and calls in all steps):"]
        lines += [
            f"{_row(event.key[:48], getattr(event, sort))}  x{event.count}"
            for event in kernels[:15]
        ]
        self.tables = "\n".join(lines)


def _total(event: Any, cuda: bool) -> float:
    return float(event.device_time_total if cuda else event.cpu_time_total)


def _row(name: str, microseconds: float) -> str:
    return f"  {name:<50}{microseconds / STEPS / 1000:>10.3f}"


@contextmanager
def profiled(path: Path, device: torch.device) -> Iterator[Profile]:
    """A profile to be stepped after each optimizer step."""
    made = Profile(path, device)
    with made.profiler:
        yield made


@contextmanager
def named_layers(model: nn.Module) -> Iterator[None]:
    """Record each layer's forward pass under its name."""
    handles: list[RemovableHandle] = []
    for name, module in model.named_modules():
        if name and name.count(".") < DEPTH:
            open_ranges: list[Any] = []
            handles.append(module.register_forward_pre_hook(_enter(name, open_ranges)))
            # Always: a pass that is computed again for its gradients breaks off in the middle.
            handles.append(module.register_forward_hook(_leave(open_ranges), always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _enter(name: str, ranges: list[Any]) -> Callable[..., None]:
    def hook(_module: nn.Module, _inputs: Any) -> None:
        ranges.append(record_function(f"{LAYER}{name}"))
        ranges[-1].__enter__()

    return hook


def _leave(ranges: list[Any]) -> Callable[..., None]:
    def hook(_module: nn.Module, _inputs: Any, _output: Any) -> None:
        ranges.pop().__exit__(None, None, None)

    return hook
