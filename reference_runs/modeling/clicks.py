"""Click prediction: the task, and synthetic clicks from a hidden factor model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from podium.reference_runs.modeling.click_config import ClickConfig
from podium.reference_runs.modeling.ranking import Ranking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from podium.reference_runs.parallel.filling import RandomTensors

    Batch = tuple[Tensor, list[Tensor], Tensor]

K = TypeVar("K", bound=ClickConfig)

DENSE_FEATURES = 13
TASK_SEED = 12
FACTORS = 4
PAIRS = ((0, 1), (0, 2), (1, 3), (2, 4))
"""Tables whose factors are multiplied: neither table predicts anything alone."""
STRENGTH = 2.6
BASE = -1.4
"""Log odds of a click without any evidence; a quarter of all samples are clicks."""


class Clicks(torch.utils.data.Dataset[Any]):
    """Samples in memory: dense features, ids per table (samples, ids), and labels."""

    def __init__(
        self,
        dense: NDArray[np.float32],
        ids: list[NDArray[np.int32]],
        labels: NDArray[np.float32],
    ) -> None:
        self.dense, self.ids, self.labels = dense, ids, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Dense features (B, 13), ids per table (B, ids), labels (B,)."""
        rows = np.asarray(indices)
        dense, labels = torch.from_numpy(self.dense[rows]), torch.from_numpy(self.labels[rows])
        return dense, [torch.from_numpy(table[rows]) for table in self.ids], labels


class ClickModel:
    """A synthetic click model: products of hidden factors, and a wave over dense features."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        rng = np.random.default_rng(TASK_SEED)
        self.factors = [rng.normal(size=(count, FACTORS)).astype(np.float32) for count in rows]
        self.direction = rng.normal(size=3).astype(np.float32)
        # A few ids are frequent and most are rare, as in real click logs.
        popular = [rng.permutation(1.0 / np.arange(1, count + 1)) for count in rows]
        self.cumulative = [np.cumsum(weights) / weights.sum() for weights in popular]

    def draw(self, count: int, ids: tuple[int, ...], seed: Sequence[int]) -> Clicks:
        """Draw `count` samples; `ids` has the number of ids per table."""
        rng = np.random.default_rng(seed)
        dense = rng.exponential(size=(count, DENSE_FEATURES)).astype(np.float32)
        bags = [
            np.searchsorted(cumulative, rng.random((count, bag_size)), side="right").astype(
                np.int32
            )
            for cumulative, bag_size in zip(self.cumulative, ids, strict=True)
        ]
        labels = rng.random(count) < 1 / (1 + np.exp(-self._log_odds(dense, bags)))
        return Clicks(np.log1p(dense), bags, labels.astype(np.float32))

    def _log_odds(
        self, dense: NDArray[np.float32], bags: list[NDArray[np.int32]]
    ) -> NDArray[np.float32]:
        pooled = [
            table[bag].sum(1) / np.sqrt(np.float32(bag.shape[1]))
            for table, bag in zip(self.factors, bags, strict=True)
        ]
        products = sum((pooled[a] * pooled[b]).sum(1) for a, b in PAIRS if b < len(pooled))
        spread = np.sqrt(FACTORS * len(PAIRS))
        odds: NDArray[np.float32] = STRENGTH * products / spread
        odds += np.sin(dense[:, :3] @ self.direction) + BASE
        return odds


def synthetic(config: ClickConfig, seed: int) -> tuple[Clicks, Clicks]:
    """Training clicks drawn from the seed, evaluation clicks the same for all seeds."""
    model = ClickModel(config.rows)
    training = model.draw(config.train_samples, config.ids, [seed, 0xD1])
    if config.shuffled_labels:
        training.labels = np.random.default_rng([seed, 0xD2]).permutation(training.labels)
    return training, model.draw(config.eval_samples, config.ids, [TASK_SEED, 0xD3])


class ClickPrediction(Ranking[K]):
    """Click prediction; the quality is the area under the ROC curve of all evaluation samples."""

    def generated_data(self) -> tuple[Clicks, Clicks]:
        """Clicks that depend on products of features."""
        return synthetic(self.config, self.setting.seed)

    def largest_batch(self) -> Batch:
        """A synthetic batch: the click model at full size takes as much memory as the tables."""
        count, config = self.micro_batch_size, self.config
        ids = [torch.zeros(count, bag_size, dtype=torch.int64) for bag_size in config.ids]
        return torch.zeros(count, DENSE_FEATURES), ids, torch.zeros(count)

    def order(self, epoch: int) -> Sequence[int]:
        """The stored order: the files are already shuffled, and the rules allow no other order."""
        return range(self.config.train_samples)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values with the model's own standard deviations."""
        if name.startswith("tables."):
            return draws.uniform(name, shape, math.sqrt(1 / shape[0]))
        variance = 2 / sum(shape) if len(shape) > 1 else 1 / shape[0]
        return draws.normal(name, shape, math.sqrt(variance))

    def log_odds(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Log odds and labels of a batch of samples."""
        dense, ids, label = batch
        near = [table_ids.to(self.device, non_blocking=True) for table_ids in ids]
        odds = model(dense.to(self.device, non_blocking=True), near)
        return odds.float(), label.to(self.device, non_blocking=True)
