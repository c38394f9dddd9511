"""Pretraining of Llama 3.1: 8B from random weights, 405B from a base."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.reference_runs.benchmarks.llama31.config import Llama31Large
from podium.reference_runs.modeling.language.config import RotaryPretrainingConfig
from podium.reference_runs.modeling.language.llama import Llama
from podium.reference_runs.modeling.language.pretraining import Pretraining

if TYPE_CHECKING:
    from torch import nn


class LlamaPretraining(Pretraining[RotaryPretrainingConfig]):
    """Next-token prediction with Llama."""

    @property
    def starts_trained(self) -> bool:
        """Whether this is the 405B benchmark."""
        return isinstance(self.config, Llama31Large)

    def decoder(self) -> nn.Module:
        """The model with random weights."""
        return Llama(self.config)


TASK = LlamaPretraining
