"""The LoRA fine-tuning task of the shared loop."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch

from podium.reference_runs.benchmarks.llama2_70b_lora.config import Llama2Lora
from podium.reference_runs.benchmarks.llama2_70b_lora.data import from_files, with_prompts
from podium.reference_runs.benchmarks.llama2_70b_lora.model import adapted_llama, is_adapter
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.language.base import base_weights
from podium.reference_runs.modeling.language.pretraining import LanguageModel
from podium.reference_runs.modeling.schedule import cosine
from podium.reference_runs.weights.layout import FUSED_LLAMA, Layout
from podium.reference_runs.weights.starting import fill, published_weights

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.modeling.language.corpus import Language, Sequences
    from podium.reference_runs.modeling.language.pretraining import Tokens
    from podium.reference_runs.parallel.filling import RandomTensors

CHANGED_SHARE, CHANGED_SEED = 0.4, 62
"""Fraction of contexts whose successors differ from those in the base's language."""


class FineTuning(LanguageModel[Llama2Lora]):
    """Only the adapters are trained; the base is unchanged."""

    files: ClassVar[tuple[str, ...]] = (
        "train.bin",
        "validation.bin",
        "validation_labels.bin",
    )

    layout: ClassVar[Layout] = FUSED_LLAMA

    @property
    def starts_trained(self) -> bool:
        """True: a published model is tuned."""
        return True

    def language(self) -> Language:
        """The base's language with some contexts changed."""
        return super().language().changed(CHANGED_SHARE, CHANGED_SEED)

    def generated_data(self) -> tuple[Sequences, Sequences]:
        """Sentences; evaluation sentences begin with an unscored prompt."""
        training, evaluation = super().generated_data()
        return training, with_prompts(evaluation)

    def data_from_files(self) -> tuple[Tokens, Tokens]:
        """The packed sequences."""
        return from_files(self.data_folder, self.config, self.expected)

    def build(self) -> nn.Module:
        """The base with new adapters."""
        model = adapted_llama(self.config)
        # A model on the meta device has shapes only and cannot be filled
        if next(model.parameters()).is_meta:
            return model
        path = self.start_weights()
        if path is not None and path.is_dir():
            names = [name for name in model.state_dict() if not is_adapter(name)]
            fill(model, self.published(path, names), path, kept=is_adapter)
            return model
        if path is None:
            weights, path = base_weights(self.config, self.setting), Path()
        else:
            weights = published_weights(path)
        fill(model, _fused(weights, path), path, kept=is_adapter)
        return model

    def published(self, path: Path, names: Sequence[str]) -> Mapping[str, Tensor]:
        """The base's weights, with one projection for query, key and value."""
        weights = super().published(path, names)
        return weights if path.is_dir() else _fused(dict(weights), path)

    def is_new(self, name: str) -> bool:
        """Whether a tensor belongs to an adapter."""
        return is_adapter(name)

    def initial_tensor(self, draws: RandomTensors, name: str, shape: torch.Size) -> Tensor:
        """An adapter's initial values: its second matrix is 0."""
        if ".up." in name:
            return torch.zeros(shape, device=self.device)
        return draws.uniform(name, shape, 1 / math.sqrt(shape[-1]))

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW on the adapters."""
        return [self.adamw([p for p in model.parameters() if p.requires_grad])]

    def learning_rate(self, step: int) -> float:
        """A cosine from the base rate to 0 over the training steps."""
        config = self.config
        warmup = config.opt_learning_rate_warmup_steps
        return cosine(
            step,
            warmup=warmup,
            decay=config.opt_learning_rate_training_steps - warmup,
            base=config.opt_base_learning_rate,
            end=0.0,
        )


def _fused(weights: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Weights of a model with three projections, under the names of one with a fused projection."""
    absent = {
        name.replace(".query.", f".{part}.")
        for name in weights
        for part in ("key", "value")
        if ".attention.query." in name
    } - {*weights}
    if absent:
        raise DataMissing(f"{path} has no tensor {min(absent)}")
    fused: dict[str, Tensor] = {}
    for name, value in weights.items():
        if ".attention.query." in name:
            names = [name.replace(".query.", f".{part}.") for part in ("query", "key", "value")]
            fused[name.replace(".query.", ".qkv.")] = torch.cat([weights[n] for n in names])
        elif ".attention.key." not in name and ".attention.value." not in name:
            fused[name] = value
    return fused


TASK = FineTuning
