"""What GPT-OSS pretraining adds to that of Llama 3.1: another decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from podium.reference_runs.benchmarks.gpt_oss_20b.model import Decoder
from podium.reference_runs.benchmarks.llama31.data import UNSCORED, Batch
from podium.reference_runs.benchmarks.llama31.train import Pretraining
from podium.reference_runs.weights.layout import GPT_OSS, Layout

if TYPE_CHECKING:
    from torch import nn

    from podium.reference_runs.benchmarks.gpt_oss_20b.config import GptOss
    from podium.reference_runs.engine.task import Loss


class MixturePretraining(Pretraining):
    """Next-token prediction by a mixture of experts, from random weights."""

    layout: ClassVar[Layout] = GPT_OSS

    def decoder(self) -> nn.Module:
        """The model with random weights."""
        return Decoder(self._of_mixture)

    @property
    def deviation(self) -> float:
        """Of random weights."""
        return self._of_mixture.initial_deviation

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Cross-entropy summed over tokens, but those that follow a document's end."""
        ends = batch.tokens == self._of_mixture.end_of_document
        return super().loss(model, Batch(batch.tokens, batch.targets.masked_fill(ends, UNSCORED)))

    @property
    def _of_mixture(self) -> GptOss:
        return cast("GptOss", self.config)  # the catalogue pairs the two


TASK = MixturePretraining
