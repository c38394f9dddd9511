"""A run's first step on fake tensors: shapes without numbers, which take no time and no memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import (
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import debug
from torch.nn.attention.bias import CausalBias
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from podium.reference_runs.catalogue import task_of
from podium.reference_runs.engine.checkpoints.randomness import seed_everything
from podium.reference_runs.engine.ranks import Ranks, divided
from podium.reference_runs.engine.stepper import Stepper
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.experts import Mixture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.launch import RunRequest


class FakeStepper(Stepper):
    """A stepper whose model has shapes only; its ranks are one process that sends nothing."""

    def _build(self) -> torch.nn.Module:
        plain = self.task.build

        def build() -> torch.nn.Module:
            with unset_fake_temporarily(), torch.device("meta"):
                model = plain()
            return _on_processor(model)

        self.task.build = build  # type: ignore[method-assign]
        model = super()._build()
        for mixture in (each for each in model.modules() if isinstance(each, Mixture)):
            mixture.counted = _evenly
        return model

    def _wrap(self) -> torch.nn.Module:
        ranks = self.task.ranks
        if ranks.processes == 1 or (ranks.mesh is not None and not self.task.keeps_whole):
            return super()._wrap()
        # Stands for DistributedDataParallel, which needs numbers
        self._last, self._buckets = True, dict[torch.Tensor, torch.Tensor]()
        for parameter in self._parameters:
            parameter.register_post_accumulate_grad_hook(self._averaged)  # type: ignore[no-untyped-call]
        return self.model

    def _averaged(self, parameter: torch.Tensor) -> None:
        """Have a gradient lie in a bucket, which stays when the gradient goes."""
        grad = parameter.grad
        if self._last and grad is not None and not grad.is_sparse:
            parameter.grad = self._buckets.setdefault(parameter, grad)

    def evaluate_batch(self, batch: Any) -> None:
        """What an evaluation computes at once, on a batch of the training data's shapes."""
        self.model.eval()
        with torch.no_grad(), self._autocast():
            self.task.loss(self._wrapped if self._pipelined else self.model, batch)

    def _without_sync(self, *, last: bool) -> AbstractContextManager[Any]:
        self._last = last
        return super()._without_sync(last=last)


@contextmanager
def without_numbers(
    request: RunRequest, world: int = 1, most: int | None = None, rank: int = 0
) -> Iterator[tuple[FakeStepper, list[Any]]]:
    """A model of one of so many ranks, and the micro-batches of its first step, `most` at most.

    Samples are drawn as at smoke scale, of the config's shapes and no more than a step takes; at
    reference scale a task may know them without. Raises RunFault where the shapes of a step depend
    on its data.
    """
    config = _small(request.config(), most)
    setting = replace(request.setting, scale="smoke", device="cpu", data=None)
    seed_everything(setting.seed)
    with _one_of(world, rank) as alone:
        ranks = divided(alone, setting.mesh)
        task: Any = task_of(request.benchmark.name)(config, setting, ranks)
        count = config.gradient_accumulation_steps
        # An operator without a rule for shapes is computed, which takes the memory of its tensors
        small = request.setting.scale == "smoke"
        fake = FakeTensorMode(allow_fallback_kernels=small, allow_non_fake_inputs=True)
        batches = _known(task, request, fake, count) or _drawn(task, fake, count)
        try:
            # Meshes find their place among the ranks by numbers; a mask that is a name for one,
            # of another class than tensors, cannot be fake
            real = _with_numbers(DeviceMesh, "__init__"), _with_numbers(CausalBias, "__new__")
            with fake, real[0], real[1]:
                stepper = FakeStepper(task)
                stepper.model.train()
                yield stepper, batches
        except UnsupportedOperatorException as error:
            hint = "; try --set sparse_gradients=False" if "sparse" in str(error.func) else ""
            reason = f"{config.name} has no step without numbers for {error.func}"
            raise RunFault(f"{reason}{hint}") from None
        # Most often shapes depend on values, which fake tensors have none of
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise RunFault(f"{config.name} has no step without --data: {reason}") from None


def _small(whole: Config, most: int | None) -> Config:
    """A config whose step has so many of its micro-batches, and whose data are those of a step."""
    micro = whole.gradient_accumulation_steps
    count = micro if most is None else min(micro, most)
    few = whole.global_batch_size // micro * count
    return replace(
        whole,
        global_batch_size=few,
        gradient_accumulation_steps=count,
        train_samples=few,
        eval_samples=min(whole.eval_samples, few),
        workers=0,
    )


def _known(task: Any, request: RunRequest, fake: FakeTensorMode, count: int) -> list[Any] | None:
    # At smoke scale what a run draws is cheap, and exact where shapes depend on it
    if request.setting.scale == "smoke" and not task.data_grow:
        return None
    with fake:
        return None if (batch := task.largest_batch()) is None else [batch] * count


def _drawn(task: Any, fake: FakeTensorMode, count: int) -> list[Any]:
    if task.data_grow:
        raise RunFault(f"{task.config.name} has no step without a run: its model makes its data")
    task.prepare()
    task.read_in_place()
    task.open_data()
    drawn = [*islice(task.batches(1, 0), count)]
    return tree_map(lambda each: _faked(fake, each), drawn)  # type: ignore[no-any-return]


def called(func: Any, args: Any, kwargs: Any) -> Any:
    """What an operator gives; the value of a fake tensor's number is 1.

    Numbers that are there, as few are, are computed with.
    """
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    if tensors and not any(isinstance(each, FakeTensor) for each in tensors):
        with unset_fake_temporarily():
            return func(*args, **kwargs)
    if func is torch.ops.aten._local_scalar_dense.default:
        number = args[0]
        return True if number.dtype is torch.bool else 1.0 if number.is_floating_point() else 1
    return func(*args, **kwargs)


def _evenly(chosen: torch.Tensor, count: int) -> torch.Tensor:
    """Tokens of each expert where all are used alike, which routers are trained for; (count,)."""
    with unset_fake_temporarily():
        sizes = torch.full((count,), chosen.numel() // count)
        sizes[: chosen.numel() % count] += 1
        return sizes


@contextmanager
def _one_of(world: int, rank: int) -> Iterator[Ranks]:
    """A rank of so many, where the others are there by name only."""
    device = torch.device("cpu")
    if world == 1:
        yield Ranks(device)
        return
    # Makes the backend `fake` known, whose messages go nowhere
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield Ranks(device, rank, world)
    finally:
        # Kept for meshes that are alike, where the next one's groups have other names
        if clear := getattr(debug, "_clear_sharding_prop_cache", None):  # of newer torch
            clear()
        dist.destroy_process_group()


@contextmanager
def _with_numbers(kind: type, name: str) -> Iterator[None]:
    """Have a method of a class called as if no tensors were fake."""
    inherited = name not in vars(kind)
    plain = getattr(kind, name)

    def real(*args: Any, **kwargs: Any) -> Any:
        with _disable_current_modes():
            return plain(*args, **kwargs)

    setattr(kind, name, real)
    try:
        yield
    finally:
        if inherited:
            delattr(kind, name)
        else:
            setattr(kind, name, plain)


def _on_processor(model: torch.nn.Module) -> torch.nn.Module:
    """A model of the meta device with each tensor as a fake one of the processor."""
    made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    for module in model.modules():
        kinds: tuple[Any, ...] = (module._parameters, module._buffers, vars(module))
        for kept in kinds:
            for name, each in kept.items():
                if isinstance(each, torch.Tensor):
                    # What two modules share stays shared
                    if id(each) not in made:
                        made[id(each)] = each, _like(each)
                    kept[name] = made[id(each)][1]
    return model


def _like(tensor: torch.Tensor) -> torch.Tensor:
    like = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(like, requires_grad=tensor.requires_grad)
    return like


def _faked(fake: FakeTensorMode, value: Any) -> Any:
    return fake.from_tensor(value) if isinstance(value, torch.Tensor) else value
