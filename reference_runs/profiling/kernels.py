"""Some steps under torch's profiler: operators and kernels by module, and a trace for a viewer."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from podium.reference_runs.profiling.chrome import name_rank, shortened
from podium.reference_runs.profiling.counts import OperatorCall
from podium.reference_runs.profiling.spans import overlap, total, union

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from torch import nn

    from podium.reference_runs.profiling.profile import Phase
    from podium.reference_runs.profiling.spans import Span

WARM_UP, STEPS = 3, 5
"""Steps before recording (first calls allocate and tune), and steps recorded."""

LAYER = "layer "
_BACKWARD = "autograd::engine::evaluate_function"
_TALK = ("nccl", "gloo:", "c10d::", "ncclDevKernel")
_LOADER = ("enumerate(DataLoader)",)


@dataclass(kw_only=True)
class RecordedKernels:
    """What was recorded, in microseconds of all recorded steps."""

    steps: int
    wall: float = 0.0
    kernels: dict[OperatorCall, dict[str, tuple[float, int]]] = field(default_factory=dict)
    """By operator, each kernel's time and calls."""
    calls: dict[OperatorCall, int] = field(default_factory=lambda: defaultdict(int))
    """Of operators themselves: what they call, and kernels that they start, are not counted."""
    phases: dict[Phase, float] = field(default_factory=lambda: defaultdict(float))
    layers: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Forward time of modules with those below them, on the host."""
    to_device: float = 0.0
    exposed: float = 0.0
    overlapped: float = 0.0
    windows: list[Span] = field(default_factory=list)
    """Each recorded step."""
    lanes: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    """When each phase ran on the host, and what the device did."""


class Recording:
    """A recording of a few steps, to be stepped after each; `found` is there once it is over."""

    def __init__(
        self,
        path: Path | None,
        device: torch.device,
        done: Callable[[RecordedKernels], None] | None = None,
        counted: frozenset[str] = frozenset(),
    ) -> None:
        self.path, self.found = path, RecordedKernels(steps=STEPS)
        self._done, self._counted = done, counted
        self._cuda = device.type == "cuda"
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self._cuda else [])]
        self.profiler = profile(
            activities=kinds,
            schedule=schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1),
            on_trace_ready=self._finished,
            acc_events=True,  # or it warns that it forgets: there is one cycle
        )

    def _finished(self, profiler: Any) -> None:
        if self.path is not None:
            # Renamed into place, so that no viewer opens half a trace
            draft = self.path.with_name(f".{self.path.name}.draft.json")
            profiler.export_chrome_trace(str(draft))
            name_rank(draft)
            shortened(draft)
            draft.replace(self.path)
        self.found = _Reader(self._cuda, self._counted).read(profiler.events())
        if self._done is not None:
            self._done(self.found)


class _Reader:
    """Goes through the profiler's events, which are trees of calls on each thread."""

    def __init__(self, cuda: bool, counted: frozenset[str]) -> None:
        self._cuda, self._counted = cuda, counted
        self.found = RecordedKernels(steps=STEPS)
        self._forward: dict[int, tuple[float, str]] = {}
        self._work: list[Span] = []

    def read(self, events: Iterable[Any]) -> RecordedKernels:
        events = [*events]
        host = [event for event in events if event.device_type.name == "CPU"]
        if self._cuda:
            self._on_device(event for event in events if event.device_type.name == "CUDA")
        roots = [event for event in host if event.cpu_parent is None]
        for root in roots:
            self._learn(root, "")
        for root in roots:
            self._walk(root, "", "other")
        talk, work = union(self.found.lanes["communication"]), union(self._work)
        self.found.overlapped = overlap(talk, work)
        self.found.exposed = total(talk) - self.found.overlapped
        return self.found

    def _on_device(self, events: Iterable[Any]) -> None:
        """Kernels by when they ran: work, or the communication of ranks."""
        for event in events:
            # What the host names shows up on the device as well, around the kernels
            if event.is_user_annotation:
                continue
            talks = event.name.lower().startswith("nccl")
            copies = event.name.startswith(("Memcpy", "Memset"))
            lane = "communication" if talks else "copies" if copies else "device"
            self.found.lanes[lane].append(_span(event))
            if lane == "device":
                self._work.append(_span(event))

    def _learn(self, root: Any, module: str) -> None:
        """Which module made each node of the graph, by the number that its backward has, too."""
        left = [(root, module)]
        while left:
            event, module = left.pop()
            if event.name.startswith(LAYER):
                module = event.name.removeprefix(LAYER)
            elif (
                event.sequence_nr >= 0 and event.scope == 0 and not event.name.startswith(_BACKWARD)
            ):
                # What makes no node carries the number of the next: the last that began made it
                made = (event.time_range.start, module)
                self._forward[event.sequence_nr] = max(
                    made, self._forward.get(event.sequence_nr, made)
                )
            left += [(child, module) for child in event.cpu_children]

    def _walk(self, root: Any, module: str, phase: Phase) -> None:
        left: list[tuple[Any, str, Phase, str]] = [(root, module, phase, "")]
        while left:
            event, module, phase, operator = left.pop()
            name = event.name
            if name.startswith("ProfilerStep"):
                self.found.wall += event.cpu_time_total
                self.found.windows.append(_span(event))
            elif name.startswith(LAYER):
                module, phase = self._enter_layer(event, phase)
            elif name.startswith(_BACKWARD):
                module, phase = self._made_by(event), "backward"
                self.found.lanes[phase].append(_span(event))
                place = OperatorCall(module, phase, name)
                self.found.calls[place] += 1
                self._note(event, place)
            else:
                if name.startswith("Optimizer.step#"):
                    module, phase = "", "optimizer"
                    self.found.lanes[phase].append(_span(event))
                elif name.startswith(_LOADER):
                    module, phase = "", "loader"
                    self.found.lanes[phase].append(_span(event))
                elif name.startswith(_TALK):
                    phase = "communication"
                # What a counted operator calls is part of it, as its FLOP are
                place = OperatorCall(module, phase, operator or name)
                self.found.calls[place] += not operator
                self._note(event, place)
                operator = operator or (name if name in self._counted else "")
            left += [(child, module, phase, operator) for child in event.cpu_children]

    def _made_by(self, event: Any) -> str:
        return self._forward.get(event.sequence_nr, (0.0, ""))[1]

    def _enter_layer(self, event: Any, phase: Phase) -> tuple[str, Phase]:
        name = event.name.removeprefix(LAYER)
        # A forward pass inside of the backward one is computed again for its gradients
        if phase != "backward":
            self.found.layers[name] += _total(event, self._cuda)
            phase = "forward"
            self.found.lanes[phase].append(_span(event))
        return name, phase

    def _note(self, event: Any, place: OperatorCall) -> None:
        if not self._cuda:
            if place.phase == "communication":
                self.found.lanes[place.phase].append(_span(event))
            # A range around others is no work: it holds what waits, too
            elif event.scope == 0 and not event.name.startswith(_BACKWARD):
                self._work.append(_span(event))
            self._add(place, event.name, event.self_cpu_time_total)
            return
        for kernel in event.kernels:
            if "HtoD" in kernel.name:
                self.found.to_device += kernel.duration
            self._add(place, kernel.name, kernel.duration)

    def _add(self, place: OperatorCall, kernel: str, microseconds: float) -> None:
        known = self.found.kernels.setdefault(place, {})
        time, calls = known.get(kernel, (0.0, 0))
        known[kernel] = time + microseconds, calls + 1
        self.found.phases[place.phase] += microseconds


def _span(event: Any) -> Span:
    return event.time_range.start, event.time_range.end


def _total(event: Any, cuda: bool) -> float:
    return float(event.device_time_total if cuda else event.cpu_time_total)


@contextmanager
def recorded(
    path: Path | None,
    device: torch.device,
    model: nn.Module,
    done: Callable[[RecordedKernels], None] | None = None,
    counted: frozenset[str] = frozenset(),
) -> Iterator[Recording]:
    """A recording to be stepped after each optimizer step; `done` is called when it is over.

    What operators named in `counted` call has its time with them.
    """
    made = Recording(path, device, done, counted)
    with _named_layers(model), made.profiler:
        yield made


@contextmanager
def _named_layers(model: nn.Module) -> Iterator[None]:
    """Record each module's forward pass under its name."""
    handles: list[Any] = []
    for name, module in model.named_modules():
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
