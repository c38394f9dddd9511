"""The peak memory of a real step on the CPU, as recorded by the allocator."""

from __future__ import annotations

import gc
from bisect import bisect
from itertools import islice
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses import FakeTensor
from torch.profiler import ProfilerActivity, profile, record_function
from torch.utils._pytree import tree_leaves

from podium.reference_runs.catalogue import task_of
from podium.reference_runs.engine.checkpoints.randomness import seed_everything
from podium.reference_runs.engine.stepper import Stepper

if TYPE_CHECKING:
    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.ranks import Ranks


MARK = "podium's step"
STEPS = range(2, 22)
"""Many steps: the profiler misses memory that communication threads release, or release late. The
sum of its changes drifts, but the rise within most steps is correct.
"""


def peak(request: RunRequest, ranks: Ranks, *, evaluates: bool = False) -> int:
    """Bytes at the peak of a step after the first, with weights, state and batch.

    With `evaluates`, the bytes at the peak of an evaluation.
    """
    seed_everything(request.setting.seed)
    config = request.config()
    task: Any = task_of(request.benchmark.name)(config, request.setting, ranks)
    task.prepare()
    task.read_in_place()
    task.open_data()
    stepper = Stepper(task)
    stepper.model.train()
    micro = [*islice(task.batches(1, 0), config.gradient_accumulation_steps)]
    # Adagrad has state before its first step
    total = _size([stepper.model.state_dict(), [each.state for each in stepper.optimizers], micro])
    before = _living(stepper.model)  # keeps tensors of earlier tests alive during the steps
    # The first step and evaluation create what stays: optimizer state, communication buffers
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        stepper.step(1, micro)
        if evaluates:
            stepper.evaluate()
        total += _size(_living(stepper.model)) - _size(before)
        for step in STEPS:
            with record_function(MARK):
                if evaluates:
                    stepper.evaluate()
                else:
                    stepper.step(step, micro)
    events = recorded.profiler.kineto_results.events()  # type: ignore[union-attr]
    begins = sorted(e.start_ns() for e in events if e.name() == MARK)
    changes = sorted((e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]")
    rises, changed = [0] * (len(begins) + 1), [0] * (len(begins) + 1)
    for when, change in changes:
        step = bisect(begins, when)
        changed[step] += change
        rises[step] = max(rises[step], changed[step])
    return total + int(median(rises[1:]))


def _living(model: torch.nn.Module) -> list[torch.Tensor]:
    """All tensors of this process except the fake tensors of plans."""
    gc.collect()
    found = [each for each in gc.get_objects() if isinstance(each, torch.Tensor) and _is_real(each)]
    return found + [each.grad for each in model.parameters() if each.grad is not None]


def _is_real(tensor: torch.Tensor) -> bool:
    local = getattr(tensor, "_local_tensor", tensor)
    return local.layout is torch.strided and not isinstance(local, FakeTensor)


def _size(values: Any) -> int:
    """Bytes of the storages of tensors; a shared storage is counted once.

    Empty tensors and meta tensors of other tests have no address.
    """
    found: dict[int, int] = {}
    for each in _tensors(values):
        storage = getattr(each, "_local_tensor", each).untyped_storage()
        found[storage.data_ptr()] = storage.nbytes()
    return sum(size for address, size in found.items() if address)


def _tensors(values: Any) -> list[torch.Tensor]:
    if isinstance(values, dict):  # an optimizer's state has tensors as keys
        return [found for each in values.values() for found in _tensors(each)]
    if isinstance(values, list | tuple):
        return [found for each in values for found in _tensors(each)]
    return [each for each in tree_leaves(values) if isinstance(each, torch.Tensor)]
