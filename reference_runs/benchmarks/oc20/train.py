"""The catalysis task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from podium.reference_runs.benchmarks.oc20.config import Oc20
from podium.reference_runs.benchmarks.oc20.data import PARTS, Batch, Structures, write_made
from podium.reference_runs.benchmarks.oc20.model import DimeNetPlusPlus
from podium.reference_runs.engine.staging import StagedTask
from podium.reference_runs.engine.task import Loss
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.schedule import stepped, warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor, nn
    from torch.optim import Optimizer


EVALUATION_BATCH = 16


class Catalysis(StagedTask[Oc20]):
    """Predict the forces on the atoms of a structure; the quality is their mean absolute error."""

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = PARTS

    training: Structures
    evaluation: Structures

    def check_settings(self) -> None:
        """Raise RunFault with `--compile`: torch cannot compile derivatives of derivatives."""
        if self.setting.compile:
            raise RunFault("--compile: oc20 needs second derivatives, which torch.compile lacks")

    def write_generated(self, folder: Path) -> None:
        """Write slabs of atoms."""
        write_made(folder, self.config, self.setting.seed)

    def open_data(self) -> None:
        """List the structures; generated ones are read, with the edges among their atoms."""
        smoke = self.setting.scale == "smoke"
        self.training, self.evaluation = (
            Structures(self.near.path / part, self.config, kept=smoke) for part in PARTS
        )
        what = "structures in *.txt"
        self.expected.check_training(self.source / PARTS[0], len(self.training), what)
        self.expected.check_evaluation(self.source / PARTS[1], len(self.evaluation), what)
        # Only the pairing is shuffled: the staged files are the same either way
        if self.config.shuffled_labels:
            rng = np.random.default_rng(self.setting.seed)
            self.training.forces_of = rng.permutation(len(self.training))

    def build(self) -> nn.Module:
        """DimeNet++, with random weights."""
        return DimeNetPlusPlus(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW on everything."""
        decay = self.config.weight_decay
        return [self.optimizer(torch.optim.AdamW, model.parameters(), weight_decay=decay)]

    def learning_rate(self, step: int) -> float:
        """From a share of the base rate up to it, then down by a factor at each boundary."""
        config, base = self.config, self.config.opt_base_learning_rate
        warmup = config.opt_learning_rate_warmup_steps
        if step <= warmup:
            # The reference counts steps from 0
            return warmed_up(step - 1, warmup, base, base * config.opt_learning_rate_warmup_factor)
        boundaries = config.opt_learning_rate_decay_boundary_steps
        factors = (config.opt_learning_rate_decay_factor,) * len(boundaries)
        return base * stepped(step, boundaries=boundaries, factors=factors)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Absolute error of the forces on free atoms, weighted, summed over their components."""
        apart = self._errors(model, batch)
        return Loss(self.config.force_coefficient * apart.sum(), apart.numel())

    def evaluate(self, model: nn.Module) -> float:
        """Mean absolute error of the forces on free atoms, in eV/Å, over all structures."""
        total = torch.zeros(2, dtype=torch.float64, device=self.device)
        batches = self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH)
        for batch in self.loaded(self.evaluation, batches):
            apart = self._errors(model, batch)
            total += torch.stack([apart.sum().double(), total.new_tensor(apart.numel())])
        error, count = self.ranks.sum(total)
        return float(error / count) * self.config.force_scale

    def _errors(self, model: nn.Module, batch: Batch) -> Tensor:
        """Absolute errors of each free atom, (A, 3), in units of the force scale."""
        batch = batch.to(self.device)
        apart = model(batch).float() - batch.forces / self.config.force_scale
        errors: Tensor = apart[batch.free].abs()
        return errors


TASK = Catalysis
