"""The DLRMv4 task of the shared loop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.dlrm_v4_hstu.config import DlrmV4
from podium.reference_runs.benchmarks.dlrm_v4_hstu.data import Batch, Plays
from podium.reference_runs.benchmarks.dlrm_v4_hstu.files import CACHE, from_files
from podium.reference_runs.benchmarks.dlrm_v4_hstu.model import DlrmHstu, first_numbers
from podium.reference_runs.benchmarks.dlrm_v4_hstu.synthetic import synthetic
from podium.reference_runs.engine.task import Loss
from podium.reference_runs.modeling.optimizers import RowWiseAdagrad
from podium.reference_runs.modeling.ranking import Ranking
from podium.reference_runs.modeling.schedule import warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.parallel.filling import RandomTensors


LOSS_WEIGHT = 0.2
"""Loss weight of the benchmark's only task."""


class PlayPrediction(Ranking[DlrmV4]):
    """Predict whether at least half of a track is heard.

    Training follows the order of the days. The evaluation is later than the training data: the next
    day, or the day after the stream.
    """

    files: ClassVar[tuple[str, ...]] = (f"{CACHE}/flat_uid.npy", "shared_metadata")

    training: Plays
    evaluation: Plays
    trained: int = 0
    """Steps."""

    def generated_data(self) -> tuple[Plays, Plays]:
        """A synthetic stream of plays."""
        return synthetic(self.config)

    def data_from_files(self) -> tuple[Plays, Plays]:
        """The events of Yambda-5B."""
        return from_files(self.data_folder, self.config, self.expected)

    def largest_batch(self) -> Batch:
        """A synthetic batch: histories are padded, and a full-size stream would fill the memory."""
        count, config = self.micro_batch_size, self.config
        numbers = partial(torch.zeros, dtype=torch.int64)
        return Batch(
            contexts=numbers(count, 1 + len(config.cross_rows)),
            events=numbers(count, config.events, 3),
            actions=numbers(count, config.events),
            times=numbers(count, config.events),
            candidate=numbers(count),
            labels=torch.zeros(count),
        )

    def order(self, epoch: int) -> Sequence[int]:
        """Chronological order, as the rules require."""
        return range(self.config.train_samples)

    def build(self) -> nn.Module:
        """Tables and layers, with random weights."""
        return DlrmHstu(self.config)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with the model's distribution."""
        kind, size = first_numbers(name, shape)
        if kind == "constant":
            return torch.full(shape, size, device=self.device)
        return (draws.uniform if kind == "uniform" else draws.normal)(name, shape, size)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Row-wise Adagrad for the tables, Adam for everything else."""
        config = self.config
        named = list(model.named_parameters())
        dense = [weight for name, weight in named if not name.startswith("tables.")]
        adam = self.adam(dense, weight_decay=config.opt_weight_decay)
        tables = [weight for name, weight in named if name.startswith("tables.")]
        self._tables = {*tables}
        # The reference's two optimizers have the same epsilon; the rules name Adam's
        adagrad = self.optimizer(RowWiseAdagrad, tables, eps=config.opt_adam_epsilon)
        return [adam, adagrad]

    def clip(self, parameters: Sequence[nn.Parameter]) -> None:
        """Clip the norm of all gradients except those of the tables."""
        super().clip([parameter for parameter in parameters if parameter not in self._tables])

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then constant."""
        config = self.config
        return warmed_up(
            step,
            config.opt_learning_rate_warmup_steps,
            config.opt_base_learning_rate,
            config.opt_learning_rate_warmup_start_lr,
        )

    def log_odds(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Log odds and labels of a batch of plays."""
        *parts, labels = (tensor.to(self.device, non_blocking=True) for tensor in batch)
        return model(*parts).float(), labels

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Binary cross-entropy summed over plays, times the task's weight."""
        total, items = super().loss(model, batch)
        return Loss(LOSS_WEIGHT * total, items)

    def after_step(self, model: nn.Module, step: int) -> None:
        """Record how much of the stream was used for training."""
        self.trained = step

    def evaluate(self, model: nn.Module) -> float:
        """The area under the ROC curve of a day that was not yet used for training."""
        if self.config.evaluates_next_day:
            last = self.training.day(max(0, self.trained * self.config.global_batch_size - 1))
            self.evaluation = self.evaluation.moved(last + 1)
        return super().evaluate(model)


TASK = PlayPrediction
