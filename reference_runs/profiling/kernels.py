"""Some steps under torch's profiler: operators and kernels by module, and a trace for viewers."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from podium.reference_runs.errors import RunFault
from podium.reference_runs.profiling.chrome import name_rank, shortened
from podium.reference_runs.profiling.counts import OperatorCall
from podium.reference_runs.profiling.spans import overlap, total, union
from podium.reference_runs.profiling.traces.events import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import nn

    from podium.reference_runs.profiling.profile import Phase
    from podium.reference_runs.profiling.spans import Span
    from podium.reference_runs.profiling.traces.events import Trace

WARM_UP, STEPS = 3, 5
"""Steps before recording (first calls allocate and tune), and recorded steps."""

LAYER = "layer "
"""Prefix of the ranges around the forward passes of modules."""


@dataclass(kw_only=True)
class RecordedKernels:
    """The recorded data, in microseconds summed over the recorded steps."""

    steps: int
    wall: float = 0.0
    kernels: dict[OperatorCall, dict[str, tuple[float, int]]] = field(default_factory=dict)
    """Time and calls of each kernel, by operator."""
    calls: dict[OperatorCall, int] = field(default_factory=lambda: defaultdict(int))
    """Self time of operators, without the operators and kernels that they call."""
    phases: dict[Phase, float] = field(default_factory=lambda: defaultdict(float))
    layers: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Forward time of modules including their submodules, on the host."""
    to_device: float = 0.0
    exposed: float = 0.0
    overlapped: float = 0.0
    windows: list[Span] = field(default_factory=list)
    """The interval of each recorded step."""
    lanes: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    """The intervals of each phase on the host, and of the device's work."""


class Recording:
    """A recording of a few steps, stepped after each; `found` is available at the end."""

    def __init__(
        self,
        path: Path | None,
        device: torch.device,
        done: Callable[[RecordedKernels], None] | None = None,
        counted: frozenset[str] = frozenset(),
        *,
        analyzed: bool = False,
    ) -> None:
        self.path, self.found = path, RecordedKernels(steps=STEPS)
        self.trace: Trace | None = None
        """The events of the trace, if it is to be analyzed."""
        self._done, self._counted, self._analyzed = done, counted, analyzed
        self._cuda = device.type == "cuda"
        kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self._cuda else [])]
        self.profiler = profile(
            activities=kinds,
            schedule=schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1),
            on_trace_ready=self._finished,
            acc_events=True,  # otherwise it warns about lost events, but there is only one cycle
        )

    def _finished(self, profiler: Any) -> None:
        if self.path is not None:
            self._export(profiler, self.path)
        elif self._analyzed:
            with tempfile.TemporaryDirectory(prefix="podium-trace-") as folder:
                self._export(profiler, Path(folder) / "trace.json")
        self.found = _Reader(self._cuda, self._counted).read(profiler.events())
        if self._done is not None:
            self._done(self.found)

    def _export(self, profiler: Any, path: Path) -> None:
        """Write the trace; renamed into place, so that no viewer opens an incomplete one."""
        draft = path.with_name(f".{path.name}.draft.json")
        profiler.export_chrome_trace(str(draft))
        name_rank(draft)
        if self._analyzed:
            with suppress(RunFault):  # a trace without events has nothing to analyze
                self.trace = read_trace(draft)
        shortened(draft)
        draft.replace(path)


class EventKind(Enum):
    """Kinds of events on the host, by the prefixes of their names."""

    STEP = ("ProfilerStep",)
    LAYER = (LAYER,)
    BACKWARD = ("autograd::engine::evaluate_function",)
    OPTIMIZER = ("Optimizer.step#",)
    LOADER = ("enumerate(DataLoader)",)
    COMMUNICATION = ("nccl", "gloo:", "c10d::", "ncclDevKernel")
    OPERATOR = ("",)

    @classmethod
    def of(cls, event: Any) -> EventKind:
        """The kind of an event."""
        return next(kind for kind in cls if event.name.startswith(kind.value))


class Context(NamedTuple):
    """The surroundings of an event on the host."""

    module: str = ""
    phase: Phase = "other"
    operator: str = ""
    """The enclosing counted operator."""


class _Reader:
    """Sums up the profiler's events, which form a call tree per thread."""

    def __init__(self, cuda: bool, counted: frozenset[str]) -> None:
        self._cuda, self._counted = cuda, counted
        self.found = RecordedKernels(steps=STEPS)
        self._module_of_node: dict[int, str] = {}
        self._work: list[Span] = []

    def read(self, events: Iterable[Any]) -> RecordedKernels:
        events = [*events]
        if self._cuda:
            self._read_device(event for event in events if event.device_type.name == "CUDA")
        host = (event for event in events if event.device_type.name == "CPU")
        roots = [event for event in host if event.cpu_parent is None]
        self._module_of_node = modules_of_nodes(roots)
        for root in roots:
            for _ in walked(root, Context(), self._enter):
                pass
        communication = union(self.found.lanes["communication"])
        self.found.overlapped = overlap(communication, union(self._work))
        self.found.exposed = total(communication) - self.found.overlapped
        return self.found

    def _read_device(self, events: Iterable[Any]) -> None:
        """Classify kernels as compute, copies or communication between ranks."""
        for event in events:
            # Host ranges appear on the device as well, around the kernels
            if event.is_user_annotation:
                continue
            communicates = event.name.lower().startswith("nccl")
            copies = event.name.startswith(("Memcpy", "Memset"))
            lane = "communication" if communicates else "copies" if copies else "device"
            self.found.lanes[lane].append(_span(event))
            if lane == "device":
                self._work.append(_span(event))

    def _enter(self, event: Any, outer: Context) -> Context:
        """Account for an event; returns the context of its child events."""
        kind = EventKind.of(event)
        if kind is EventKind.STEP:
            self.found.wall += event.cpu_time_total
            self.found.windows.append(_span(event))
            return outer
        if kind is EventKind.LAYER:
            return self._enter_layer(event, outer)
        context = self._context(event, kind, outer)
        if kind in (EventKind.BACKWARD, EventKind.OPTIMIZER, EventKind.LOADER):
            self.found.lanes[context.phase].append(_span(event))
        call = OperatorCall(context.module, context.phase, context.operator or event.name)
        if not context.operator:
            self.found.calls[call] += 1
        self._add_time(event, kind, call)
        # The calls of a counted operator are part of it, like its FLOP
        counted = event.name in self._counted and not context.operator
        return context._replace(operator=event.name) if counted else context

    def _context(self, event: Any, kind: EventKind, outer: Context) -> Context:
        """The context of an event itself."""
        match kind:
            case EventKind.BACKWARD:
                return Context(self._module_of_node.get(event.sequence_nr, ""), "backward")
            case EventKind.OPTIMIZER:
                return outer._replace(module="", phase="optimizer")
            case EventKind.LOADER:
                return outer._replace(module="", phase="loader")
            case EventKind.COMMUNICATION:
                return outer._replace(phase="communication")
            case _:
                return outer

    def _enter_layer(self, event: Any, outer: Context) -> Context:
        name = event.name.removeprefix(LAYER)
        # A forward pass inside the backward pass is a recomputation for its gradients
        if outer.phase == "backward":
            return outer._replace(module=name)
        self.found.layers[name] += _total(event, self._cuda)
        self.found.lanes["forward"].append(_span(event))
        return outer._replace(module=name, phase="forward")

    def _add_time(self, event: Any, kind: EventKind, call: OperatorCall) -> None:
        if self._cuda:
            for kernel in event.kernels:
                if "HtoD" in kernel.name:
                    self.found.to_device += kernel.duration
                self._add_kernel(call, kernel.name, kernel.duration)
            return
        if call.phase == "communication":
            self.found.lanes[call.phase].append(_span(event))
        # A range around other events is not work: it includes waiting, too
        elif event.scope == 0 and kind is not EventKind.BACKWARD:
            self._work.append(_span(event))
        self._add_kernel(call, event.name, event.self_cpu_time_total)

    def _add_kernel(self, call: OperatorCall, kernel: str, microseconds: float) -> None:
        kernels = self.found.kernels.setdefault(call, {})
        time, calls = kernels.get(kernel, (0.0, 0))
        kernels[kernel] = time + microseconds, calls + 1
        self.found.phases[call.phase] += microseconds


def modules_of_nodes(roots: Iterable[Any]) -> dict[int, str]:
    """The module that created each graph node, by the sequence number of its backward event."""
    last: dict[int, tuple[float, str]] = {}
    for event, module in (pair for root in roots for pair in walked(root, "", _module_in)):
        kind = EventKind.of(event)
        if event.sequence_nr < 0 or event.scope or kind in (EventKind.LAYER, EventKind.BACKWARD):
            continue
        # An event that creates no node has the number of the next one: the last event created it
        made = event.time_range.start, module
        last[event.sequence_nr] = max(made, last.get(event.sequence_nr, made))
    return {number: module for number, (_, module) in last.items()}


def _module_in(event: Any, outer: str) -> str:
    return event.name.removeprefix(LAYER) if event.name.startswith(LAYER) else outer


C = TypeVar("C")


def walked(root: Any, context: C, enter: Callable[[Any, C], C]) -> Iterator[tuple[Any, C]]:
    """The events of a tree, each with the context that `enter` returns for its children."""
    pending = [(root, context)]
    while pending:
        event, outer = pending.pop()
        inner = enter(event, outer)
        yield event, inner
        pending += [(child, inner) for child in event.cpu_children]


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
    *,
    analyzed: bool = False,
) -> Iterator[Recording]:
    """A recording, to be stepped after each optimizer step; calls `done` at the end.

    The time of an operator named in `counted` includes its calls. With `analyzed` the events of the
    trace are kept.
    """
    made = Recording(path, device, done, counted, analyzed=analyzed)
    with _named_layers(model), made.profiler:
        yield made


@contextmanager
def _named_layers(model: nn.Module) -> Iterator[None]:
    """Record each module's forward pass under its name."""
    handles: list[Any] = []
    for name, module in model.named_modules():
        open_ranges: list[Any] = []
        handles.append(module.register_forward_pre_hook(_enter(name, open_ranges)))
        # Always: a recomputed pass stops early when its gradients are ready.
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
