"""The CosmoFlow task of the shared loop."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from podium.reference_runs.benchmarks.cosmoflow.config import CosmoFlow
from podium.reference_runs.benchmarks.cosmoflow.data import (
    PARTS,
    Volumes,
    open_made,
    open_simulated,
    write,
)
from podium.reference_runs.benchmarks.cosmoflow.model import Regressor
from podium.reference_runs.engine.staging import StagedTask
from podium.reference_runs.engine.task import Loss

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor, nn
    from torch.distributed.device_mesh import DeviceMesh
    from torch.optim import Optimizer


class Cosmology(StagedTask[CosmoFlow]):
    """Predict a universe's parameters from a volume; the quality is the mean absolute error."""

    plans_evaluation: ClassVar[bool] = True
    keeps_whole: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("train", "validation")

    training: Volumes
    evaluation: Volumes

    def write_generated(self, folder: Path) -> None:
        """Write random fields."""
        write(folder, self.config, self.setting.seed)

    def open_data(self) -> None:
        """Read the generated volumes, or list the simulation files."""
        config, near = self.config, self.near.path
        if self.setting.scale == "smoke":
            self.training, self.evaluation = (open_made(near, part) for part in PARTS)
        else:
            self.training, self.evaluation = (
                open_simulated(near, part, config.size) for part in PARTS
            )
            what = "volumes *.tfrecord"
            self.expected.check_training(self.source / PARTS[0], len(self.training), what)
            self.expected.check_evaluation(self.source / PARTS[1], len(self.evaluation), what)
        # Only the pairing is shuffled: the staged files are the same either way
        if config.shuffled_labels:
            order = np.random.default_rng(self.setting.seed).permutation(config.train_samples)
            self.training = replace(self.training, target=order)

    def build(self) -> nn.Module:
        """The network, with random weights."""
        return Regressor(self.config)

    def divided(self, model: nn.Module, mesh: DeviceMesh) -> nn.Module:
        """The network for parts of volumes; its output is whole."""
        from podium.reference_runs.parallel.spatial import divide

        return divide(model, mesh, gathers=False)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Stochastic gradient descent with momentum."""
        config = self.config
        sgd = self.optimizer(
            torch.optim.SGD,
            model.parameters(),
            momentum=config.sgd_opt_momentum,
            weight_decay=config.opt_weight_decay,
        )
        return [sgd]

    def learning_rate(self, step: int) -> float:
        """From the base rate to `factor` times it over the warmup, then down at the boundaries."""
        config, epoch_steps = self.config, self.config.steps_per_epoch
        base, factor = config.opt_base_learning_rate, config.opt_learning_rate_warmup_factor
        warmup = config.opt_learning_rate_warmup_epochs * epoch_steps
        if step <= warmup:
            return base * (1 + (factor - 1) * step / warmup)
        rate = base * factor
        boundaries = config.opt_learning_rate_decay_boundary_epochs
        for boundary, share in zip(boundaries, config.opt_learning_rate_decay_factor, strict=True):
            if step > boundary * epoch_steps:
                rate = base * factor * share
        return rate

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Squared error: its mean over the parameters, summed over volumes."""
        volumes, wanted = (part.to(self.device, non_blocking=True) for part in batch)
        squared_BP = (model(volumes).float() - wanted).square()
        return Loss(squared_BP.mean(-1).sum(), len(wanted))

    def evaluate(self, model: nn.Module) -> float:
        """Mean absolute error over all parameters of all evaluation volumes."""
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        for indices in self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices)
            volumes, wanted = (part.to(self.device) for part in batch)
            total += (model(volumes).float() - wanted).abs().mean(-1).sum()
        return float(self.ranks.sum(total)) / len(self.evaluation)


EVALUATION_BATCH = 32

TASK = Cosmology
