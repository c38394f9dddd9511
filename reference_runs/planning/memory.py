"""The most memory that a rank holds in a step or an evaluation, and what it holds then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

import torch

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
"""Of a step that has more: those after the second find the memory as the second does."""


@dataclass(frozen=True)
class Memory:
    """Bytes of one rank where it needs most.

    `buffers` are the model's, and weights that are gathered for their use; `activations` all else:
    what the backward pass needs, the batch, and what operators need for a while.
    """

    weights: int
    gradients: int
    optimizer: int
    buffers: int
    activations: int

    @property
    def peak(self) -> int:
        """All of it."""
        return self.kept + self.buffers + self.activations

    @property
    def kept(self) -> int:
        """What a step needs whatever its batch is."""
        return self.weights + self.gradients + self.optimizer


def memory(request: RunRequest, world: int, rank: int = 0) -> Memory:
    """What one of so many ranks needs where it needs most, in a step or an evaluation.

    Raises RunFault where shapes depend on data.
    """
    return max(by_phase(request, world, rank).values(), key=lambda each: each.peak)


def by_phase(request: RunRequest, world: int, rank: int = 0) -> dict[Phase, Memory]:
    """What one of so many ranks needs for a step and, where it is counted, for an evaluation.

    The step is one after the first, which makes the state. Nothing is computed and no such memory
    is taken. Left out is what lies outside of tensors: the device's context, its libraries' scratch
    space, what its allocator cannot use. Raises RunFault where shapes depend on data.
    """
    mesh = request.setting.mesh
    if mesh is None or mesh.pp == 1:
        return _of_few(request, world, rank, MICRO_BATCHES)
    # A stage holds the activations of one micro-batch for each stage from it on at most. What more
    # of them add is the same for each: their tokens, and buffers for what stages send, which
    # torch's stages keep for every micro-batch.
    micro, few = request.config().gradient_accumulation_steps, mesh.pp + 1
    needs = _of_few(request, world, rank, few)
    if micro <= few:
        return needs
    one_more = _of_few(request, world, rank, few + 1)
    return {
        phase: Memory(
            **{
                name: size + (micro - few) * (getattr(one_more[phase], name) - size)
                for name, size in vars(need).items()
            }
        )
        for phase, need in needs.items()
    }


def _of_few(request: RunRequest, world: int, rank: int, micro_batches: int) -> dict[Phase, Memory]:
    """The same for a step of so many micro-batches at most."""
    with fake_step(request, world, micro_batches, rank) as (stepper, micro):
        line = Timeline()
        held = {"weights": line.note(stepper.model.parameters())}
        held["buffers"] = line.note(stepper.model.buffers())
        for optimizer in stepper.optimizers:
            optimizer.register_step_pre_hook(
                lambda each, *_: held.update(
                    gradients=[*held.get("gradients", ()), *line.note(_gradients(each))]
                )
            )
        line.note(_tensors(micro[0]))
        begins: dict[Phase, int] = {}
        with line, line.resizes():
            stepper.step(1, micro)
            begins["step"] = len(line.changes)
            stepper.step(2, micro)
            if stepper.task.evaluates_as_trains:
                begins["evaluation"] = len(line.changes)
                stepper.evaluate_batch(micro[0])
        held["optimizer"] = line.note(_state(stepper.optimizers))
        held["buffers"] += line.resized
    ends = [*begins.values(), len(line.changes)][1:]
    return {
        phase: _at_the_peak(line.changes, range(begin, end + 1), held)
        for (phase, begin), end in zip(begins.items(), ends, strict=True)
    }


def _tensors(batch: Any) -> Iterator[Tensor]:
    """Those of a batch, which may be one, several, or an object with some."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif is_dataclass(batch):
        yield from _tensors(vars(batch))
    elif isinstance(batch, Mapping):
        yield from _tensors([*batch.values()])
    elif isinstance(batch, Sequence) and not isinstance(batch, str):
        for each in batch:
            yield from _tensors(each)


def _gradients(optimizer: Optimizer) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        yield from (each.grad for each in group["params"] if each.grad is not None)


def _state(optimizers: Iterable[Optimizer]) -> Iterator[Tensor]:
    for optimizer in optimizers:
        for state in optimizer.state.values():
            yield from (each for each in state.values() if isinstance(each, torch.Tensor))


def _at_the_peak(
    changes: Sequence[SizeChange], phase: range, held: Mapping[str, Iterable[int]]
) -> Memory:
    """What there is when there is most of it, after so many changes."""
    totals, sizes = [0], dict[int, int]()
    for storage, size in changes:
        totals.append(totals[-1] + size - sizes.get(storage, 0))
        sizes[storage] = size
    most = max(phase, key=totals.__getitem__)
    then = dict(changes[:most])
    found = {name: sum(then.pop(each, 0) for each in {*ids}) for name, ids in held.items()}
    return Memory(**found, activations=sum(then.values()))
