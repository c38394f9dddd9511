"""Pretraining of GPT-OSS: a mixture of experts from random weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.benchmarks.gpt_oss_20b.config import GptOss
from podium.reference_runs.benchmarks.gpt_oss_20b.model import Decoder
from podium.reference_runs.modeling.language.corpus import UNSCORED, Batch
from podium.reference_runs.modeling.language.pretraining import Pretraining
from podium.reference_runs.weights.layout import GPT_OSS, Layout

if TYPE_CHECKING:
    from torch import nn

    from podium.reference_runs.engine.task import Loss


class MixturePretraining(Pretraining[GptOss]):
    """Next-token prediction with a mixture of experts, from random weights."""

    layout: ClassVar[Layout] = GPT_OSS

    def decoder(self) -> nn.Module:
        """The model with random weights."""
        return Decoder(self.config)

    @property
    def deviation(self) -> float:
        """Standard deviation of random weights."""
        return self.config.initial_deviation

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Cross-entropy summed over tokens, except those that follow a document's end."""
        ends = batch.tokens == self.config.end_of_document
        return super().loss(model, Batch(batch.tokens, batch.targets.masked_fill(ends, UNSCORED)))


TASK = MixturePretraining
