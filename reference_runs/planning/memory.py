"""The peak memory of a rank in a step or an evaluation, and its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import torch

from podium.reference_runs.planning.accelerator_types import accelerator_types
from podium.reference_runs.planning.fake_step import fake_step
from podium.reference_runs.planning.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch import Tensor
    from torch.optim import Optimizer

    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.planning.timeline import SizeChange

Phase = Literal["step", "evaluation"]

MICRO_BATCHES = 2
"""Micro-batches that are simulated: the memory does not change after the second."""


@dataclass(frozen=True)
class Memory:
    """Bytes of one rank at its peak.

    `buffers` are the model's buffers and gathered weights; `activations` is the rest: inputs of the
    backward pass, the batch, and temporary memory of operators.
    """

    weights: int
    gradients: int
    optimizer: int
    buffers: int
    activations: int
    is_bound: bool = False
    """Whether buffers and activations were not planned, so that the peak is a lower bound."""

    @property
    def peak(self) -> int:
        """The sum of all parts."""
        return self.kept + self.buffers + self.activations

    @property
    def kept(self) -> int:
        """The part that does not depend on the batch."""
        return self.weights + self.gradients + self.optimizer


KEPT = ("weights", "gradients", "optimizer")
SIZES = (*KEPT, "buffers", "activations")


def memory(request: RunRequest, world: int, rank: int = 0, limit: int | None = None) -> Memory:
    """The peak memory of one of `world` ranks, in a step or an evaluation.

    `limit` is as for `by_phase`. Raises RunFault if shapes depend on data.
    """
    return max(by_phase(request, world, rank, limit).values(), key=lambda usage: usage.peak)


def by_phase(
    request: RunRequest, world: int, rank: int = 0, limit: int | None = None
) -> dict[Phase, Memory]:
    """The peak memory of one of `world` ranks for a step and, if it is counted, for an evaluation.

    The step comes after the first, which creates the optimizer state. Nothing is computed and no
    such memory is allocated. Memory outside of tensors is not included: the device's context,
    scratch space of libraries, fragmentation of the allocator. If weights, gradients and optimizer
    state alone exceed `limit` bytes, no step is run, and these are the bound of its memory. Raises
    RunFault if shapes depend on data.
    """
    mesh = request.setting.mesh
    if mesh is None or mesh.pp == 1:
        return _of_few(request, world, rank, MICRO_BATCHES, limit)
    # A pipeline stage holds the activations of at most one micro-batch per stage from itself on.
    # Each further micro-batch adds the same amount: its tokens, and the buffers for communication
    # between stages, which torch's stages keep for every micro-batch.
    micro, few = request.config().gradient_accumulation_steps, mesh.pp + 1
    needs = _of_few(request, world, rank, few, limit)
    if micro <= few or needs["step"].is_bound:
        return needs
    one_more = _of_few(request, world, rank, few + 1)
    return {
        phase: _extrapolated(need, one_more[phase], micro - few) for phase, need in needs.items()
    }


def _extrapolated(need: Memory, one_more: Memory, times: int) -> Memory:
    """The memory after a further micro-batch was added several times."""
    before, after = attrgetter(*SIZES)(need), attrgetter(*SIZES)(one_more)
    return Memory(*(size + times * (more - size) for size, more in zip(before, after, strict=True)))


def _of_few(
    request: RunRequest, world: int, rank: int, micro_batches: int, limit: int | None = None
) -> dict[Phase, Memory]:
    """The same for a step of at most `micro_batches` micro-batches."""
    with fake_step(request, world, micro_batches, rank) as (stepper, micro):
        line = Timeline()
        held = {"weights": line.note(stepper.model.parameters())}
        held["buffers"] = line.note(stepper.model.buffers())
        for optimizer in stepper.optimizers:
            optimizer.register_step_pre_hook(
                lambda stepped, *_: held.update(
                    gradients=[*held.get("gradients", ()), *line.note(_gradients(stepped))]
                )
            )
        line.note(_tensors(micro[0]))
        begins: dict[Phase, int] = {}
        with line, line.resizes(), _types(request.setting.device):
            stepper.first_update(micro)
            state = line.note(_state(stepper.optimizers))
            kept = _kept(line.changes, {**held, "optimizer": state})
            if limit is not None and kept.peak > limit:
                return {"step": kept}
            begins["step"] = len(line.changes)
            stepper.step(2, micro)
            if stepper.task.plans_evaluation:
                begins["evaluation"] = len(line.changes)
                stepper.evaluate_batch(micro[0])
        held["optimizer"] = line.note(_state(stepper.optimizers))
        held["buffers"] += line.resized
    ends = [*begins.values(), len(line.changes)][1:]
    return {
        phase: _at_the_peak(line.changes, range(begin, end + 1), held)
        for (phase, begin), end in zip(begins.items(), ends, strict=True)
    }


def _kept(changes: Sequence[SizeChange], held: Mapping[str, Iterable[int]]) -> Memory:
    """Weights, gradients and optimizer state, which all exist when the optimizer begins a step.

    Gradients count with the sizes that they had in the first update.
    """
    largest: dict[int, int] = {}
    for storage, size in changes:
        largest[storage] = max(size, largest.get(storage, 0))
    sizes = {name: sum(largest[number] for number in {*held.get(name, ())}) for name in KEPT}
    return Memory(**sizes, buffers=0, activations=0, is_bound=True)


def _types(device: str) -> AbstractContextManager[object]:
    """The types of a run: a plan without a device is one for accelerators."""
    return nullcontext() if device == "cpu" else accelerator_types()


def _tensors(batch: Any) -> Iterator[Tensor]:
    """The tensors of a batch, which may be one, several, or an object with some."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif is_dataclass(batch):
        yield from _tensors(vars(batch))
    elif isinstance(batch, Mapping):
        yield from _tensors([*batch.values()])
    elif isinstance(batch, Sequence) and not isinstance(batch, str):
        for item in batch:
            yield from _tensors(item)


def _gradients(optimizer: Optimizer) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        yield from (parameter.grad for parameter in group["params"] if parameter.grad is not None)


def _state(optimizers: Iterable[Optimizer]) -> Iterator[Tensor]:
    for optimizer in optimizers:
        for state in optimizer.state.values():
            yield from (value for value in state.values() if isinstance(value, torch.Tensor))


def _at_the_peak(
    changes: Sequence[SizeChange], phase: range, held: Mapping[str, Iterable[int]]
) -> Memory:
    """The memory at its peak within `phase`, a range of changes."""
    totals, sizes = [0], dict[int, int]()
    for storage, size in changes:
        totals.append(totals[-1] + size - sizes.get(storage, 0))
        sizes[storage] = size
    most = max(phase, key=totals.__getitem__)
    then = dict(changes[:most])
    bytes_by_kind = {
        name: sum(then.pop(number, 0) for number in {*ids}) for name, ids in held.items()
    }
    return Memory(**bytes_by_kind, activations=sum(then.values()), is_bound=False)
