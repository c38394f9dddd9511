"""The kernels of one step of a trainer, recorded from a real step or one on fake tensors."""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch

from podium.reference_runs.engine.launch import joined_ranks
from podium.reference_runs.errors import RunFault
from podium.reference_runs.kernels.problems import KINDS, AllReduce, Kind
from podium.reference_runs.kernels.recording import Recorder
from podium.reference_runs.kernels.result import KernelRun, Measured, Share, Step
from podium.reference_runs.kernels.session import Item
from podium.reference_runs.kernels.tape import Tape
from podium.reference_runs.planning.fake_step import fake_step
from podium.reference_runs.profiling.clock import clock_of
from podium.reference_runs.profiling.measuring import measuring

if TYPE_CHECKING:
    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.profiling.measuring import Measuring

TURNS, STEPS, PLAYS = 4, 5, 3
"""Alternating turns of steps and kernel replays; lower quartiles are compared."""
FIRST_BUCKET, BUCKET = 1 << 20, 25 << 20
"""Bytes of gradients per all-reduce of DistributedDataParallel: in the first, in the others."""


@dataclass(frozen=True)
class Recording:
    """A step's kernels, and the step itself if it was run on real tensors."""

    items: tuple[Item, ...]
    device: torch.device
    step: Step | None = None
    in_step_ms: Mapping[Hashable, float] = field(default_factory=dict)
    """Time of all calls in one step, by problem."""


@contextmanager
def recorded(request: RunRequest, ranks: int, *, timed: bool = True) -> Iterator[Recording]:
    """Record a step, and time it and its kernels alternately, with the threads of the run.

    Without data at reference scale the step runs on fake tensors with the shapes of the run. Raises
    RunFault for errors that the user can fix.
    """
    setting = request.setting
    if setting.scale == "reference" and setting.data is None:
        recorder, model = _on_fake_tensors(request)
        yield Recording(_items(recorder, model, ranks), torch.device("cpu"))
        return
    with joined_ranks(request) as joined:
        if joined.world > 1:
            raise RunFault("podium kernels records a single process; start it without torchrun")
        with measuring(request, joined, io.StringIO(), STEPS) as made:
            tape = Tape()
            recorder = Recorder(tape)
            with recorder.recording():
                made.block(1)
            tape.finish()
            items = _items(recorder, made.stepper.model, ranks)
            step, in_step = _step(made, tape) if timed else (None, {})
            yield Recording(items, made.stepper.task.device, step, in_step)


def _step(made: Measuring, tape: Tape) -> tuple[Step, dict[Hashable, float]]:
    """The step and the time of its kernels, interleaved so that disturbances affect both."""
    device = made.stepper.task.device
    taken, plays = [], []
    tape.play(device)
    for _ in range(TURNS):
        # The first step of a block is not timed
        taken += made.block(STEPS + 1)
        plays += [tape.play(device) for _ in range(PLAYS)]
    own = clock_of(device) == "processor"
    steps = sorted(step.busy if own else step.wall for step in taken)
    plays.sort(key=lambda play: sum(play.values()))
    return Step(steps=len(steps), ms=steps[len(steps) // 4]), plays[len(plays) // 4]


def _on_fake_tensors(request: RunRequest) -> tuple[Recorder, torch.nn.Module]:
    recorder = Recorder(None)
    with fake_step(request) as (stepper, micro), recorder.recording():
        stepper.step(1, micro)
    return recorder, stepper.model


def _items(recorder: Recorder, model: torch.nn.Module, ranks: int) -> tuple[Item, ...]:
    """The kernels of a step by kind, and the gradient all-reduces of several ranks."""
    items = [
        Item(recorded.problem, recorded.count, recorded.prepared)
        for recorded in sorted(
            recorder.found.values(), key=lambda recorded: _place(recorded.problem.kind)
        )
    ]
    sizes = gradient_sums(
        [parameter for parameter in model.parameters() if parameter.requires_grad]
    )
    sums = [AllReduce(size, ranks) for size in sizes]
    return (*items, *(Item(reduction, sums.count(reduction)) for reduction in dict.fromkeys(sums)))


def _place(kind: Kind) -> int:
    return KINDS.index(kind)


def gradient_sums(parameters: Sequence[torch.Tensor]) -> list[int]:
    """Elements of each gradient all-reduce of a step, bucketed like DistributedDataParallel.

    Buckets fill from the last parameter to the first; the first is small, so that sums start early.
    """
    sums: list[int] = []
    size, held = 0, 0
    for parameter in reversed(parameters):
        held += parameter.numel()
        size += parameter.numel() * parameter.element_size()
        if size >= (BUCKET if sums else FIRST_BUCKET):
            sums.append(held)
            size = held = 0
    return [*sums, held] if held else sums


def explained(run: KernelRun, recording: Recording) -> KernelRun:
    """A run with the time of its kernels within a step.

    All-reduces are not included, since the step ran in one process.
    """
    step = recording.step
    if step is None:
        return run
    kernels = tuple(
        replace(kernel, in_step_ms=recording.in_step_ms.get(kernel.problem))
        for kernel in run.kernels
    )
    inside = [kernel for kernel in kernels if kernel.problem.kind != "all_reduce"]
    shares = tuple(
        _share([kernel for kernel in inside if kernel.problem.kind == kind], kind, step.ms)
        for kind in dict.fromkeys(kernel.problem.kind for kernel in inside)
    )
    together = sum(share.share for share in shares)
    return replace(run, step=step, kernels=kernels, shares=shares, explained=together)


def _share(kernels: Sequence[Measured], kind: Kind, whole: float) -> Share:
    ms = sum(kernel.in_step_ms or 0 for kernel in kernels)
    return Share(
        kind=kind,
        calls=sum(kernel.count for kernel in kernels),
        ms=ms,
        share=ms / whole,
        alone_ms=sum(kernel.count * kernel.timing.median_ms for kernel in kernels if kernel.timing),
    )
