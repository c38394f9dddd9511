"""Pretraining of DeepSeek-V3: its decoder, and balanced experts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from podium.reference_runs.benchmarks.deepseekv3_671b.config import DeepSeekV3
from podium.reference_runs.benchmarks.deepseekv3_671b.model import Decoder
from podium.reference_runs.benchmarks.deepseekv3_671b.routing import correct
from podium.reference_runs.modeling.language.base import base_weights
from podium.reference_runs.modeling.language.corpus import LANGUAGE_SEED, Language
from podium.reference_runs.modeling.language.pretraining import Pretraining
from podium.reference_runs.modeling.schedule import cosine
from podium.reference_runs.weights.layout import deepseek
from podium.reference_runs.weights.published import Published
from podium.reference_runs.weights.starting import published_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torch import Tensor, nn

    from podium.reference_runs.parallel.filling import RandomTensors


class ExpertPretraining(Pretraining[DeepSeekV3]):
    """Next-token prediction continues from a base with other token ids."""

    @property
    def starts_trained(self) -> bool:
        """True: it continues from published weights."""
        return True

    def language(self) -> Language:
        """The base's language with another tokenizer: half of the words have other ids."""
        language = Language(self.config.vocabulary, LANGUAGE_SEED)
        return language.renamed(RENAMED_SHARE, RENAMED_SEED)

    def decoder(self) -> nn.Module:
        """The model with random weights."""
        return Decoder(self.config)

    def base(self) -> dict[str, Tensor]:
        """The base weights of smoke scale, generated if they are not cached."""
        balanced = partial(correct, rate=self.config.correction_rate)
        return base_weights(self.config, self.setting, lambda _: self.decoder(), balanced)

    def published(self, path: Path, names: Sequence[str]) -> Mapping[str, Tensor]:
        """The weights of a folder in the model's layout, or of a file; raises DataMissing."""
        config = self.config
        if not path.is_dir():
            return published_weights(path)
        layout = deepseek(config.layers, config.dense_layers, config.experts)
        return Published(path, layout, names)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """Random values of a tensor that is not published."""
        if name.endswith(".correction"):
            return torch.zeros(shape, device=self.device)
        return super().initial_tensor(draws, name, shape)

    @property
    def deviation(self) -> float:
        """Standard deviation of random weights."""
        return self.config.initial_deviation

    def learning_rate(self, step: int) -> float:
        """Linear warmup, then a cosine; the decay steps of the reference include the warmup."""
        config = self.config
        warmup = config.opt_learning_rate_warmup_steps
        return cosine(
            step,
            warmup=warmup,
            decay=config.opt_learning_rate_decay_steps - warmup,
            base=config.opt_base_learning_rate,
            end=config.opt_end_learning_rate,
        )

    def after_step(self, model: nn.Module, step: int) -> None:
        """Correct the scores of experts that had too many or too few tokens on all ranks."""
        correct(model, self.config.correction_rate, self.ranks.sum)


RENAMED_SHARE, RENAMED_SEED = 0.5, 671

TASK = ExpertPretraining
