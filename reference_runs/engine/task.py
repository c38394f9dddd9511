"""The interface between the shared loop and a benchmark: only what differs from one to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from torch.utils.data import DataLoader

from podium.reference_runs.errors import DataMissing, RunFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.logging_spec import Logger
    from podium.reference_runs.engine.config import Config
    from podium.reference_runs.engine.ranks import Ranks
    from podium.reference_runs.engine.setting import Setting

C = TypeVar("C", bound="Config")


class Loss(NamedTuple):
    """A batch's loss as a sum and what it is a sum over (samples, tokens, positives).

    The loop divides the sum of all ranks and micro-batches by the sum of the items, so that the
    step does not depend on how a global batch is shared out.
    """

    total: Tensor
    items: Tensor | float


class Task(ABC, Generic[C]):
    """One benchmark's data, model, loss and metric, as the loop calls them.

    Order of calls: `prepare` (on every rank, in the untimed part), `model`, `optimizers`; then for
    each step `loss`, `backward` by the loop, `learning_rate` and `after_step`; at each evaluation
    `evaluate`. A task keeps what it made in `prepare` as its own members.
    """

    unused_parameters: ClassVar[bool] = False
    """Whether a step may leave some parameters without gradient (DDP must then look for them)."""

    def __init__(self, config: C, setting: Setting, ranks: Ranks) -> None:
        self.config = config
        self.setting = setting
        self.ranks = ranks
        self.device: torch.device = ranks.device

    # --- what each benchmark defines ---

    @abstractmethod
    def prepare(self) -> None:
        """Generate the synthetic data or open the real files (`setting.data`).

        Raises DataMissing where these are not what the benchmark's README describes.
        """

    @abstractmethod
    def build(self) -> nn.Module:
        """A freshly initialised model, on the CPU or the meta device; from `config` alone."""

    @abstractmethod
    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """The optimizers of the model's parameters; make each with `self.optimizer`."""

    @abstractmethod
    def learning_rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1; a group's `scale` multiplies it."""

    @abstractmethod
    def loss(self, model: nn.Module, batch: Any) -> Loss:
        """The loss of one local micro-batch. `model` may be wrapped: call it, do not look in."""

    @abstractmethod
    def evaluate(self, model: nn.Module) -> float:
        """The quality on the evaluation data; the same value on every rank.

        The loop has put the model in evaluation mode, without gradients.
        """

    # --- what most benchmarks leave as it is ---

    @property
    def data_folder(self) -> Path:
        """Where the real dataset lies; raises DataMissing where `--data` is not given."""
        if self.setting.data is None:
            raise DataMissing("--data is needed at reference scale")
        return self.setting.data

    def training_data(self) -> Any:
        """A dataset with `__len__` and `__getitems__(indices) -> batch`, for `batches`."""
        raise NotImplementedError(f"{type(self).__name__} does not make its batches from a dataset")

    def order(self, epoch: int) -> Sequence[int]:
        """The samples of an epoch (from 1) in order; a permutation by seed and epoch."""
        rng = np.random.default_rng([self.setting.seed, epoch])
        order: Sequence[int] = rng.permutation(self.config.train_samples)  # type: ignore[assignment]
        return order

    def batches(self, epoch: int, first: int) -> Iterator[Any]:
        """The local micro-batches of an epoch, from its step `first` (0 is the epoch's start).

        `gradient_accumulation_steps` of them make one optimizer step.
        """
        data = self.training_data()
        if hasattr(data, "set_epoch"):
            data.set_epoch(epoch)
        yield from self.loaded(data, self._local_indices(self.order(epoch), first))

    def loaded(self, data: Any, indices: Iterable[Sequence[int]]) -> DataLoader[Any]:
        """Batches of a dataset by the indices of each, loaded by `config.workers` processes."""
        return DataLoader(
            data,
            batch_sampler=indices,  # type: ignore[arg-type]
            num_workers=self.config.workers,
            collate_fn=_unchanged,
            pin_memory=self.device.type == "cuda",
        )

    @property
    def micro_batch_size(self) -> int:
        """Samples that a rank takes at once."""
        parts = self.config.gradient_accumulation_steps * self.ranks.world
        return self.config.global_batch_size // parts

    def check_span(self, field: str, samples: str) -> None:
        """Raise RunFault where the batch-norm span in `field` does not divide a micro-batch."""
        span, size = getattr(self.config, field), self.micro_batch_size
        if size % span:
            raise RunFault(
                f"{field} is {span}; must divide the {size} {samples} of a rank's"
                " micro-batch, set one or the other with --set"
            )

    def _local_indices(self, order: Sequence[int], first: int) -> Iterator[list[int]]:
        """The part of this rank in each micro-batch: neighbouring samples of the global batch."""
        size, parts = self.config.global_batch_size, self.config.gradient_accumulation_steps
        share = self.micro_batch_size
        for step in range(first, self.config.steps_per_epoch):
            for part in range(parts):
                begin = step * size + (part * self.ranks.world + self.ranks.rank) * share
                yield [int(index) for index in order[begin : begin + share]]

    def clip(self, parameters: Sequence[nn.Parameter]) -> None:
        """Limit the gradient's norm where the config has `opt_gradient_clip_norm`."""
        limit = getattr(self.config, "opt_gradient_clip_norm", None)
        if limit:
            torch.nn.utils.clip_grad_norm_(parameters, limit)

    def after_step(self, model: nn.Module, step: int) -> None:
        """What follows an optimizer step: an average of weights, say."""

    def stage(self, log: Logger) -> None:
        """Bring data near (HPC): log `staging_start` and `staging_stop` around it."""

    def optimizer(self, kind: type[Optimizer], groups: Any, **settings: Any) -> Optimizer:
        """An optimizer; with `setting.shard` each rank keeps the state of its share of tensors.

        The learning rate is set by the loop at every step, from `learning_rate`.
        """
        settings.setdefault("lr", 1.0)
        if self.device.type == "cuda" and kind in FUSED:
            settings["fused"] = True
        if not self.setting.shard or self.ranks.world == 1:
            return kind(groups, **settings)
        from torch.distributed.optim import ZeroRedundancyOptimizer

        return ZeroRedundancyOptimizer(groups, kind, **settings)


FUSED = (torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD)
"""Optimizers whose step is one kernel on a GPU: faster, without copies as large as the model."""


def _unchanged(batch: Any) -> Any:
    return batch
