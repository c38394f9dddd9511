"""DLRM with DCNv2 on Criteo's multi-hot click logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.dlrm_dcnv2.config import DlrmDcnv2
from podium.reference_runs.benchmarks.dlrm_dcnv2.data import DayFiles
from podium.reference_runs.benchmarks.dlrm_dcnv2.model import DlrmDcn
from podium.reference_runs.modeling.clicks import ClickPrediction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.parallel.filling import RandomTensors

TRAINING_DAYS, EVALUATION_DAYS = range(23), range(23, 24)


class CrossedClickPrediction(ClickPrediction[DlrmDcnv2]):
    """Predict clicks from bags of ids."""

    files: ClassVar[tuple[str, ...]] = ("day_0_labels.npy", "day_23_labels.npy")

    def data_from_files(self) -> tuple[DayFiles, DayFiles]:
        """Criteo's days: the first 23 for training, half of the last for evaluation."""
        folder, config = self.data_folder, self.config
        training = DayFiles(folder, TRAINING_DAYS, config)
        evaluation = DayFiles(folder, EVALUATION_DAYS, config, share=0.5)
        days = folder / f"day_{{{TRAINING_DAYS[0]}..{TRAINING_DAYS[-1]}}}_labels.npy"
        self.expected.check_training(days, len(training), "samples")
        last = folder / f"day_{EVALUATION_DAYS[0]}_labels.npy"
        self.expected.check_evaluation(last, len(evaluation), "samples in its first half")
        return training, evaluation

    def build(self) -> nn.Module:
        """Tables, MLPs and cross network, with random weights."""
        return DlrmDcn(self.config)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with the model's distribution; biases of cross layers are 0."""
        if len(shape) == 1 and name.startswith("crosses."):
            return torch.zeros(shape, device=self.device)
        return super().initial_tensor(draws, name, shape)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adagrad on everything, tables included."""
        config = self.config
        adagrad = self.optimizer(
            torch.optim.Adagrad,
            model.parameters(),
            lr_decay=config.opt_adagrad_learning_rate_decay,
            weight_decay=config.opt_weight_decay,
            initial_accumulator_value=config.opt_adagrad_initial_accumulator_value,
            eps=config.opt_adagrad_epsilon,
        )
        return [adagrad]


TASK = CrossedClickPrediction
