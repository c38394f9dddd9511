"""The sentiment analysis task of the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.sentiment.config import Sentiment
from podium.reference_runs.benchmarks.sentiment.data import Reviews, from_files, synthetic
from podium.reference_runs.benchmarks.sentiment.model import TextCnn
from podium.reference_runs.engine.task import Loss, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer


class Classification(Task[Sentiment]):
    """Sentiment classification; the quality is the share of correct answers."""

    plans_evaluation: ClassVar[bool] = True
    files: ClassVar[tuple[str, ...]] = ("train", "test")

    training: Reviews
    evaluation: Reviews

    def generated_data(self) -> tuple[Reviews, Reviews]:
        """Synthetic texts."""
        config, seed = self.config, self.setting.seed
        training, evaluation = synthetic(config, seed)
        return training.shuffled(seed) if config.shuffled_labels else training, evaluation

    def data_from_files(self) -> tuple[Reviews, Reviews]:
        """IMDB's reviews."""
        return from_files(self.data_folder, self.config.vocabulary, self.expected)

    def build(self) -> nn.Module:
        """The classifier, with random weights."""
        return TextCnn(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam."""
        return [self.adam(model.parameters())]

    def loss(self, model: nn.Module, batch: tuple[Tensor, Tensor]) -> Loss:
        """Cross-entropy summed over texts."""
        words_BL, labels_B = (part.to(self.device, non_blocking=True) for part in batch)
        total = F.cross_entropy(model(words_BL).float(), labels_B, reduction="sum")
        return Loss(total, len(labels_B))

    def evaluate(self, model: nn.Module) -> float:
        """The share of texts whose label has the highest logit."""
        right = torch.zeros((), dtype=torch.float64, device=self.device)
        for indices in self.evaluation_batches(len(self.evaluation), EVALUATION_BATCH):
            batch = self.evaluation.__getitems__(indices)
            words_BL, labels_B = (part.to(self.device) for part in batch)
            right += (model(words_BL).argmax(-1) == labels_B).sum()
        return float(self.ranks.sum(right)) / len(self.evaluation)


EVALUATION_BATCH = 250

TASK = Classification
