"""What DLRM-DCNv2 adds to the shared loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.dlrm_dcnv2.config import DENSE_FEATURES, DlrmDcnv2
from podium.reference_runs.benchmarks.dlrm_dcnv2.data import Clicks, DayFiles, synthetic
from podium.reference_runs.benchmarks.dlrm_dcnv2.model import DlrmDcn
from podium.reference_runs.modeling.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.benchmarks.dlrm_dcnv2.data import Batch
    from podium.reference_runs.parallel.filling import RandomTensors

TRAINING_DAYS, EVALUATION_DAYS = range(23), range(23, 24)


class ClickPrediction(Ranking[DlrmDcnv2]):
    """Predict clicks; the quality is the area under the ROC curve of all evaluation clicks."""

    files: ClassVar[tuple[str, ...]] = ("day_0_labels.npy", "day_23_labels.npy")

    training: Clicks | DayFiles
    evaluation: Clicks | DayFiles

    def generated_data(self) -> tuple[Clicks, Clicks]:
        """Clicks that depend on products of features."""
        return synthetic(self.config, self.setting.seed)

    def data_from_files(self) -> tuple[DayFiles, DayFiles]:
        """Criteo's days: the first 23 to train on, half of the last to evaluate on."""
        folder, config = self.data_folder, self.config
        training = DayFiles(folder, TRAINING_DAYS, config)
        evaluation = DayFiles(folder, EVALUATION_DAYS, config, share=0.5)
        days = folder / f"day_{{{TRAINING_DAYS[0]}..{TRAINING_DAYS[-1]}}}_labels.npy"
        self.expected.check_training(days, len(training), "samples")
        last = folder / f"day_{EVALUATION_DAYS[0]}_labels.npy"
        self.expected.check_evaluation(last, len(evaluation), "samples in its first half")
        return training, evaluation

    def largest_batch(self) -> Batch:
        """The shapes of any: at full size, what tells clicks apart takes as much as the tables."""
        count, config = self.micro_batch_size, self.config
        ids = [torch.zeros(count, each, dtype=torch.int64) for each in config.ids]
        return torch.zeros(count, DENSE_FEATURES), ids, torch.zeros(count)

    def order(self, epoch: int) -> Sequence[int]:
        """As they are: the files were shuffled when they were made, and the rules allow no more."""
        return range(self.config.train_samples)

    def build(self) -> nn.Module:
        """Tables, perceptrons and cross network, with random weights."""
        return DlrmDcn(self.config)

    def initial_tensor(self, random: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with the deviations of the model's own."""
        if name.startswith("tables."):
            return random.uniform(name, shape, math.sqrt(1 / shape[0]))
        if len(shape) > 1:
            return random.normal(name, shape, math.sqrt(2 / sum(shape)))
        if name.startswith("crosses."):
            return torch.zeros(shape, device=self.device)
        return random.normal(name, shape, math.sqrt(1 / shape[0]))

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

    def log_odds(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of a batch of clicks."""
        dense, ids, label = batch
        near = [each.to(self.device, non_blocking=True) for each in ids]
        odds = model(dense.to(self.device, non_blocking=True), near)
        return odds.float(), label.to(self.device, non_blocking=True)


TASK = ClickPrediction
