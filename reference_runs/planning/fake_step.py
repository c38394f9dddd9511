"""The first step of a run on fake tensors, without computation or memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch

from podium.reference_runs.catalogue import task_of
from podium.reference_runs.engine.checkpoints.randomness import seed_everything
from podium.reference_runs.engine.ranks import Ranks, divided
from podium.reference_runs.engine.stepper import Stepper
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.experts import Mixture
from podium.reference_runs.planning.fake_tensors import (
    FakeTensorMode,
    SelectingAll,
    UnsupportedOperatorException,
    fake_batch,
    fake_copy,
    fake_process_group,
    faking,
    unset_fake_temporarily,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.launch import RunRequest
    from podium.reference_runs.engine.task import Task


class FakeScaler(torch.amp.GradScaler):
    """A scaler for gradients without values; it assumes that they are finite."""

    def step(self, optimizer: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        """Step the optimizer."""
        optimizer.step(*args, **kwargs)


class FakeStepper(Stepper):
    """A stepper whose model has fake tensors; it is one rank whose communication goes nowhere."""

    def __init__(self, task: Task[Any]) -> None:
        super().__init__(task)
        self.scaler = FakeScaler(task.device.type, enabled=self.scaler.is_enabled())

    def _build(self) -> torch.nn.Module:
        build = self.task.build

        def fake_build() -> torch.nn.Module:
            with unset_fake_temporarily(), torch.device("meta"):
                model = build()
            return fake_copy(model)

        self.task.build = fake_build  # type: ignore[method-assign]
        model = super()._build()
        for module in model.modules():
            if isinstance(module, Mixture):
                module.counted = _balanced_counts
            elif hasattr(module, "has_padding"):
                module.has_padding = False  # type: ignore[assignment]
        return model

    def _wrap(self) -> torch.nn.Module:
        ranks = self.task.ranks
        if ranks.processes == 1 or (ranks.mesh is not None and not self.task.keeps_whole):
            return super()._wrap()
        # DistributedDataParallel needs real values: hooks emulate its gradient buckets
        self._last, self._buckets = True, dict[torch.Tensor, torch.Tensor]()
        for parameter in self._parameters:
            parameter.register_post_accumulate_grad_hook(self._keep_in_bucket)  # type: ignore[no-untyped-call]
        return self.model

    def _keep_in_bucket(self, parameter: torch.Tensor) -> None:
        """Copy a gradient into a bucket, which outlives the gradient."""
        grad = parameter.grad
        if self._last and grad is not None and not grad.is_sparse:
            parameter.grad = self._buckets.setdefault(parameter, grad)

    def first_update(self, micro: list[Any]) -> None:
        """Create what a first step leaves: the state of optimizers, and buckets of gradients.

        Gradients are new tensors, which takes less time than a step on `micro`. A step is needed if
        it determines which parameters have a gradient, or which rows of them.
        """
        sparse = any(getattr(module, "sparse", False) for module in self.model.modules())
        if sparse or self.task.unused_parameters:
            self.step(1, micro)
            return
        self.scaler.scale(torch.zeros((), device=self.task.device))  # the scaler then has its state
        for parameter in self._parameters:
            parameter.grad = torch.empty_like(parameter)
            if hasattr(self, "_buckets"):
                self._keep_in_bucket(parameter)
        self._update(1)

    def evaluate_batch(self, batch: Any) -> None:
        """Run the computation of the largest evaluation batch; `batch` is one of training."""
        self.model.eval()
        with torch.no_grad(), self._autocast(), SelectingAll():
            self.task.evaluate_largest(self._wrapped if self._pipelined else self.model, batch)

    def _without_sync(self, *, last: bool) -> AbstractContextManager[Any]:
        self._last = last
        return super()._without_sync(last=last)


class OnlyRank(Ranks):
    """A rank of a group whose other ranks do not exist."""

    @property
    def first(self) -> bool:
        """True: this rank does what the first one does for all, such as generating data."""
        return True


def _balanced_counts(chosen: torch.Tensor, count: int) -> torch.Tensor:
    """Tokens per expert when all are used equally, as routers are trained to do; (count,)."""
    with unset_fake_temporarily():
        sizes = torch.full((count,), chosen.numel() // count)
        sizes[: chosen.numel() % count] += 1
        return sizes


@contextmanager
def fake_step(
    request: RunRequest, world: int = 1, most: int | None = None, rank: int = 0
) -> Iterator[tuple[FakeStepper, list[Any]]]:
    """The stepper of one of `world` ranks, and at most `most` micro-batches of its first step.

    Samples are drawn as at smoke scale, with the config's shapes and no more than a step needs; at
    reference scale a task may know their shapes. Raises RunFault if the shapes of a step depend on
    its data.
    """
    config = _config_of_one_step(request.config(), most)
    setting = replace(request.setting, scale="smoke", device="cpu", data=None)
    seed_everything(setting.seed)
    # An operator without a shape rule is computed, which takes the memory of its tensors
    computes = request.setting.scale == "smoke"
    mode = FakeTensorMode(allow_fallback_kernels=computes, allow_non_fake_inputs=True)
    with nullcontext() if world == 1 else fake_process_group(world, rank):
        ranks = divided(OnlyRank(torch.device("cpu"), rank, world), setting.mesh)
        task: Any = task_of(request.benchmark.name)(config, setting, ranks)
        batches = _micro_batches(task, request, mode)
        try:
            with faking(mode):
                stepper = FakeStepper(task)
                stepper.model.train()
                yield stepper, batches
        except UnsupportedOperatorException as error:
            hint = "; try --set sparse_gradients=False" if "sparse" in str(error.func) else ""
            reason = f"{config.name} needs real values for {error.func}"
            raise RunFault(f"{reason}{hint}") from None
        # Usually shapes depend on values, which fake tensors do not have
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise RunFault(f"{config.name} cannot be planned without --data: {reason}") from None


def _config_of_one_step(config: Config, most: int | None) -> Config:
    """A config whose step has `most` of its micro-batches, and whose training fills one step."""
    micro = config.gradient_accumulation_steps
    count = micro if most is None else min(micro, most)
    samples = config.global_batch_size // micro * count
    return replace(
        config,
        global_batch_size=samples,
        gradient_accumulation_steps=count,
        train_samples=samples,
        workers=0,
    )


def _micro_batches(task: Any, request: RunRequest, mode: FakeTensorMode) -> list[Any]:
    """Fake micro-batches of a step: of the largest shapes if the task knows them, else drawn."""
    count, smoke = task.config.gradient_accumulation_steps, request.setting.scale == "smoke"
    if smoke:
        task.prepare()
    # At smoke scale drawing is cheap, and exact if shapes depend on the data
    if not smoke or task.data_grow:
        with mode:
            batch = task.largest_batch()
        if batch is not None:
            return [batch] * count
    if task.data_grow:
        raise RunFault(f"{task.config.name} cannot be planned: its model generates its data")
    source = task if smoke else _prepared(task)
    source.read_in_place()
    source.open_data()
    return [fake_batch(mode, micro_batch) for micro_batch in islice(source.batches(1, 0), count)]


def _prepared(task: Any) -> Any:
    """Another task with the same training data, and few evaluation data, which are not used.

    The task itself has no data, so that it plans the evaluation of the whole benchmark.
    """
    config = task.config
    few = replace(config, eval_samples=min(config.eval_samples, config.train_samples))
    source = type(task)(few, task.setting, task.ranks)
    source.prepare()
    return source
