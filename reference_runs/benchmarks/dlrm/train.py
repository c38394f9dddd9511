"""DLRM on Criteo's click logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.dlrm.config import Dlrm
from podium.reference_runs.benchmarks.dlrm.data import ClickFile
from podium.reference_runs.benchmarks.dlrm.model import DotDlrm
from podium.reference_runs.modeling.clicks import ClickPrediction
from podium.reference_runs.modeling.schedule import warmed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn
    from torch.optim import Optimizer

LEAST_RATE = 1e-7


class DotClickPrediction(ClickPrediction[Dlrm]):
    """Predict clicks from one id of each feature."""

    files: ClassVar[tuple[str, ...]] = (
        "terabyte_processed_train.bin",
        "terabyte_processed_test.bin",
    )

    def data_from_files(self) -> tuple[ClickFile, ClickFile]:
        """The first 23 days for training, and half of the last for evaluation."""
        training, evaluation = (
            ClickFile(self.data_folder / name, self.config) for name in self.files
        )
        self.expected.check_training(training.path, len(training), "clicks")
        self.expected.check_evaluation(evaluation.path, len(evaluation), "clicks")
        return training, evaluation

    def build(self) -> nn.Module:
        """Tables and MLPs, with random weights."""
        return DotDlrm(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Plain stochastic gradient descent."""
        return [self.optimizer(torch.optim.SGD, model.parameters())]

    def learning_rate(self, step: int) -> float:
        """Linear warmup, the base rate, then a quadratic decay to 0, which is final."""
        config = self.config
        base = config.opt_base_learning_rate
        decayed = step - config.lr_decay_start_steps
        if decayed < 0:
            return warmed_up(step, config.opt_learning_rate_warmup_steps, base)
        left = max(0.0, 1 - decayed / config.sgd_opt_learning_rate_decay_steps)
        power = config.sgd_opt_learning_rate_decay_poly_power
        # The floor must not raise a base rate of 0, which a run without learning has
        return max(min(base, LEAST_RATE), base * left**power)


TASK = DotClickPrediction
