"""The Transformer on WMT17 English-German."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.benchmarks.transformer.config import Transformer
from podium.reference_runs.benchmarks.transformer.data import from_files
from podium.reference_runs.benchmarks.transformer.decoding import beam_search
from podium.reference_runs.benchmarks.transformer.model import Translator
from podium.reference_runs.modeling.translation import Pairs, Translation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer


class AttentionTranslation(Translation[Transformer]):
    """Translation with attention only."""

    files: ClassVar[tuple[str, ...]] = ("vocabulary.txt",)

    def data_from_files(self) -> tuple[Pairs, Pairs, list[str]]:
        """The sentences of WMT17, as sub-words."""
        return from_files(self.data_folder, self.config, self.expected)

    def build(self) -> nn.Module:
        """Encoder and decoder, with random weights."""
        return Translator(self.config)

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """Adam."""
        return [self.adam(model.parameters())]

    def learning_rate(self, step: int) -> float:
        """Base rate · width^-½ · min(1, step/W) · max(step, W)^-½ with W warmup steps."""
        config = self.config
        warmup = max(1, config.opt_learning_rate_warmup_steps)
        scale = config.opt_base_learning_rate * config.width**-0.5
        return float(scale * min(1.0, step / warmup) * max(step, warmup) ** -0.5)

    def translate(self, model: nn.Module, source_BS: Tensor) -> list[list[int]]:
        """The best translation of each sentence as token ids."""
        assert isinstance(model, Translator)
        return beam_search(model, source_BS, self.config)


TASK = AttentionTranslation
