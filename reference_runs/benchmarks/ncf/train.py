"""What neural collaborative filtering adds to the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.ncf.config import Ncf
from podium.reference_runs.benchmarks.ncf.data import (
    Candidates,
    Interactions,
    Pairs,
    candidates,
    from_ratings,
    synthetic,
)
from podium.reference_runs.benchmarks.ncf.model import NeuMF
from podium.reference_runs.engine.task import Loss, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    Batch = tuple[Tensor, Tensor, Tensor]

TOP = 10
"""Places that count as a hit."""
USERS_AT_ONCE = 256


class Filtering(Task[Ncf]):
    """Tell taken items from others; the quality is how often a held-out item ranks high."""

    files: ClassVar[tuple[str, ...]] = ("ratings.csv",)

    training: Pairs
    evaluation: Candidates

    def prepare(self) -> None:
        """Draw tastes and what users took."""
        config, setting = self.config, self.setting
        if setting.scale == "smoke":
            drawn = synthetic(config.users, config.items, config.positives, setting.seed)
            self._learn_from(drawn)

    def open_data(self) -> None:
        """Read MovieLens' ratings."""
        if self.setting.scale == "reference":
            self._learn_from(from_ratings(self.data_folder, self.config, self.wanted))

    def _learn_from(self, known: Interactions) -> None:
        config = self.config
        shuffled = config.shuffled_labels
        self.training = Pairs(known, config.negatives, self.setting.seed, shuffled=shuffled)
        self.evaluation = candidates(known, config.eval_negatives)

    def training_data(self) -> Pairs:
        """The pairs that `batches` shares out."""
        return self.training

    def build(self) -> nn.Module:
        """NeuMF, with random weights."""
        return NeuMF(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam on everything, embeddings included."""
        config = self.config
        adam = self.optimizer(
            torch.optim.Adam,
            model.parameters(),
            betas=(config.opt_adam_beta_1, config.opt_adam_beta_2),
            eps=config.opt_adam_epsilon,
        )
        return [adam]

    def learning_rate(self, step: int) -> float:
        """The same at every step."""
        return self.config.opt_base_learning_rate

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Binary cross-entropy summed over pairs."""
        user, item, label = (part.to(self.device, non_blocking=True) for part in batch)
        odds = model(user, item).float()
        return Loss(F.binary_cross_entropy_with_logits(odds, label, reduction="sum"), len(label))

    def evaluate(self, model: nn.Module) -> float:
        """Share of users whose held-out item is among the ten best of its candidates."""
        hits = torch.zeros((), dtype=torch.float64, device=self.device)
        for users in self.ranks.portions(range(len(self.evaluation.item)), USERS_AT_ONCE):
            user = torch.tensor(users)
            item = self.evaluation.item[user].to(self.device)
            repeated = self.evaluation.repeated[user].to(self.device)
            pairs = user.to(self.device)[:, None].expand_as(item)
            odds = model(pairs.reshape(-1), item.reshape(-1)).view(item.shape)
            odds = odds.masked_fill(repeated, -torch.inf)
            # A tie counts against the held-out item: a model that says nothing hits nothing.
            ahead = (odds[:, 1:] >= odds[:, :1]).sum(1)
            hits += (ahead < TOP).sum()
        return float(self.ranks.sum(hits)) / len(self.evaluation.item)


TASK = Filtering
