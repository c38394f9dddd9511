"""What GPT-OSS pretraining adds to that of Llama 3.1: another decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from podium.reference_runs.gpt_oss_20b.model import Decoder
from podium.reference_runs.llama31.train import Pretraining

if TYPE_CHECKING:
    from torch import nn

    from podium.reference_runs.gpt_oss_20b.config import GptOss


class MixturePretraining(Pretraining):
    """Next-token prediction by a mixture of experts, from random weights."""

    def build(self) -> nn.Module:
        """The decoder, with random weights."""
        return Decoder(cast("GptOss", self.config))  # the catalogue pairs the two


TASK = MixturePretraining
