"""The neural collaborative filtering task of the shared loop."""

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
"""Number of top ranks that count as a hit."""
USERS_AT_ONCE = 256


class Filtering(Task[Ncf]):
    """Predict interactions; the quality is how often a held-out item ranks high."""

    files: ClassVar[tuple[str, ...]] = ("ratings.csv",)
    plans_evaluation: ClassVar[bool] = True

    training: Pairs
    evaluation: Candidates

    def generated_data(self) -> Interactions:
        """Interactions of users according to their tastes."""
        config = self.config
        return synthetic(config.users, config.items, config.positives, self.setting.seed)

    def data_from_files(self) -> Interactions:
        """MovieLens' ratings."""
        return from_ratings(self.data_folder, self.config, self.expected)

    def use(self, data: Interactions) -> None:
        """Add negative items to the interactions."""
        config = self.config
        shuffled = config.shuffled_labels
        self.training = Pairs(data, config.negatives, self.setting.seed, shuffled=shuffled)
        self.evaluation = candidates(data, config.eval_negatives)

    def largest_batch(self) -> Batch:
        """A synthetic batch, since drawing one needs a score for each pair of user and item."""
        ids = torch.zeros(2, self.micro_batch_size, dtype=torch.int64)
        return ids[0], ids[1], torch.zeros(self.micro_batch_size)

    def build(self) -> nn.Module:
        """NeuMF, with random weights."""
        return NeuMF(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam on everything, embeddings included."""
        return [self.adam(model.parameters())]

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Binary cross-entropy summed over pairs."""
        user, item, label = (part.to(self.device, non_blocking=True) for part in batch)
        odds = model(user, item).float()
        return Loss(F.binary_cross_entropy_with_logits(odds, label, reduction="sum"), len(label))

    def evaluate_largest(self, model: nn.Module, batch: Batch) -> None:
        """Rank the candidates of as many users as at once in an evaluation."""
        count = self.largest_evaluation_batch(USERS_AT_ONCE)
        item = torch.zeros(count, 1 + self.config.eval_negatives, dtype=torch.long)
        user = torch.zeros(count, dtype=torch.long, device=self.device)
        self._hits(model, user, item.to(self.device), item.bool().to(self.device))

    def evaluate(self, model: nn.Module) -> float:
        """Share of users whose held-out item is among the ten best of its candidates."""
        hits = torch.zeros((), dtype=torch.float64, device=self.device)
        for users in self.ranks.batches_of(range(len(self.evaluation.item)), USERS_AT_ONCE):
            user = torch.tensor(users)
            rows = (user, self.evaluation.item[user], self.evaluation.repeated[user])
            hits += self._hits(model, *(tensor.to(self.device) for tensor in rows))
        return float(self.ranks.sum(hits)) / len(self.evaluation.item)

    def _hits(self, model: nn.Module, user: Tensor, item: Tensor, repeated: Tensor) -> Tensor:
        """The number of users whose held-out item is among the ten best of its candidates."""
        pairs = user[:, None].expand_as(item)
        odds = model(pairs.reshape(-1), item.reshape(-1)).view(item.shape)
        odds = odds.masked_fill(repeated, -torch.inf)
        # A tie counts against the held-out item: a constant model scores no hits.
        ahead = (odds[:, 1:] >= odds[:, :1]).sum(1)
        hits: Tensor = (ahead < TOP).sum()
        return hits


TASK = Filtering
