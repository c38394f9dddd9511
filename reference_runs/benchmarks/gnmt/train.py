"""GNMT on WMT16 English-German."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.benchmarks.gnmt.config import Gnmt
from podium.reference_runs.benchmarks.gnmt.data import REFERENCES, SOURCE, VOCABULARY, from_files
from podium.reference_runs.benchmarks.gnmt.decoding import beam_search
from podium.reference_runs.benchmarks.gnmt.model import RecurrentTranslator
from podium.reference_runs.modeling.translation import Pairs, Translation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

WARMUP_START = 0.01
"""Initial rate of the warmup, as a share of the base rate."""


class RecurrentTranslation(Translation[Gnmt]):
    """Translation by LSTMs with attention."""

    files: ClassVar[tuple[str, ...]] = (VOCABULARY, SOURCE, REFERENCES)

    def data_from_files(self) -> tuple[Pairs, Pairs, list[str]]:
        """The sentences of WMT16 as pieces."""
        self.tokenization = "intl"
        return from_files(self.data_folder, self.config, self.expected)

    def build(self) -> nn.Module:
        """Encoder and decoder, with random weights."""
        return RecurrentTranslator(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam on everything."""
        return [self.adam(model.parameters())]

    def learning_rate(self, step: int) -> float:
        """Exponential warmup, the base rate, then halved at intervals."""
        config = self.config
        base, done = config.opt_base_learning_rate, step - 1
        if done <= (warmup := config.opt_learning_rate_warmup_steps):
            return base * math.pow(WARMUP_START, (warmup - done) / warmup) if warmup else base
        late = done - config.opt_learning_rate_remain_steps
        if late < 0:
            return base
        decays = late // config.opt_learning_rate_decay_interval + 1
        times = min(decays, config.opt_learning_rate_decay_steps)
        return float(base * config.opt_learning_rate_decay_factor**times)

    def translate(self, model: nn.Module, source_BS: Tensor) -> list[list[int]]:
        """The best translation of each sentence as token ids."""
        assert isinstance(model, RecurrentTranslator)
        return beam_search(model, source_BS, self.config)


TASK = RecurrentTranslation
