"""The R-GAT node classification task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.rgat.config import Rgat
from podium.reference_runs.benchmarks.rgat.data import Graph, Seeds, from_files, synthetic
from podium.reference_runs.benchmarks.rgat.largest import largest_neighbourhood
from podium.reference_runs.benchmarks.rgat.model import RGAT
from podium.reference_runs.engine.task import Loss, Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.rgat.batch import Sampled

EVALUATION_BATCH = 512


class Classification(Task[Rgat]):
    """Classify a paper by its neighborhood; the quality is the accuracy."""

    unused_parameters: ClassVar[bool] = True  # the last layer computes only papers

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("train_idx.pt", "val_idx.pt")

    training: Seeds
    evaluation: Seeds

    def generated_data(self) -> Graph:
        """A synthetic graph."""
        return synthetic(self.config, self.setting.seed)

    def data_from_files(self) -> Graph:
        """IGBH-Full, its edges sorted by target."""
        return from_files(self.data_folder, self.config, self.expected)

    def use(self, data: Graph) -> None:
        """Set the seeds of the graph."""
        self.training = Seeds(data, data.training, self.config, self.setting.seed)
        # Seed 0 for every run: all runs are evaluated on the same neighborhoods
        self.evaluation = Seeds(data, data.evaluation, self.config, seed=0)

    def largest_batch(self) -> Sampled:
        """A batch as if all nodes had neighbors of every kind, and no node were drawn twice."""
        config = self.config
        seeds = self.micro_batch_size
        return largest_neighbourhood(config.relations, config.fan_outs, seeds, config.features)

    def batches(self, epoch: int, first: int) -> Iterator[Sampled]:
        """The micro-batches of an epoch, with a separate dropout seed for each step."""
        parts, steps = self.config.gradient_accumulation_steps, self.config.steps_per_epoch
        for number, batch in enumerate(super().batches(epoch, first)):
            step = (epoch - 1) * steps + first + number // parts
            # Runs have fewer than 2^20 steps, so no two seeds share a draw
            yield batch.drawn((self.setting.seed << 20) + step)

    def build(self) -> nn.Module:
        """The network, with random weights."""
        return RGAT(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam with torch's default settings, which are the paper's."""
        return [self.optimizer(torch.optim.Adam, model.parameters())]

    def loss(self, model: nn.Module, batch: Sampled) -> Loss:
        """Cross-entropy summed over seeds."""
        batch = batch.to(self.device)
        scores = model(batch).float()
        return Loss(F.cross_entropy(scores, batch.labels, reduction="sum"), len(batch.labels))

    def evaluate(self, model: nn.Module) -> float:
        """Share of evaluation papers whose class has the highest score."""
        right = torch.zeros((), dtype=torch.float64, device=self.device)
        for indices in self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices)
            batch = batch.to(self.device)
            right += (model(batch).argmax(-1) == batch.labels).sum()
        return float(self.ranks.sum(right)) / len(self.evaluation)


TASK = Classification
