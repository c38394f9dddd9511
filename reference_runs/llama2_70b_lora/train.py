"""What LoRA fine-tuning adds to the shared loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from podium.reference_runs.errors import DataMissing
from podium.reference_runs.llama2_70b_lora.config import Llama2Lora
from podium.reference_runs.llama2_70b_lora.model import adapted_llama
from podium.reference_runs.llama31.base import base_weights
from podium.reference_runs.llama31.train import LanguageModel
from podium.reference_runs.modeling.schedule import cosine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn
    from torch.optim import Optimizer

    from podium.reference_runs.llama31.data import Language

CHANGED_SHARE, CHANGED_SEED = 0.4, 62
"""Of the contexts of the base's language, that many go on differently in the one to be learnt."""


class FineTuning(LanguageModel[Llama2Lora]):
    """Only the adapters learn; the base is as it was loaded."""

    def language(self) -> Language:
        """The base's language with a part of its contexts changed."""
        return super().language().changed(CHANGED_SHARE, CHANGED_SEED)

    def order(self, epoch: int) -> Sequence[int]:
        """Each epoch in another order: a run passes over the few sequences several times."""
        return super(LanguageModel, self).order(epoch)

    def build(self) -> nn.Module:
        """The base with fresh adapters."""
        model = adapted_llama(self.config)
        # A model on the meta device has shapes only, which nothing can fill
        if not next(model.parameters()).is_meta:
            missing, unexpected = model.load_state_dict(_fused(self._base()), strict=False)
            if unexpected or any("attention" not in name for name in missing):
                raise DataMissing("base.pt holds other tensors than a Llama 2 of this shape")
        return model

    def _base(self) -> dict[str, Tensor]:
        if self.setting.scale == "smoke":
            return base_weights(self.config, self.setting)
        path = self.data_folder / "base.pt"
        if not path.is_file():
            raise DataMissing(f"{path}: no such file; it holds the base model's weights")
        # Mapped, so that the base's 276 GB need not be in memory beside the model's
        weights: dict[str, Tensor] = torch.load(path, weights_only=True, mmap=True)
        return weights

    def optimizers(self, model: nn.Module) -> Sequence[Optimizer]:
        """AdamW on the adapters."""
        config = self.config
        adamw = self.optimizer(
            torch.optim.AdamW,
            [p for p in model.parameters() if p.requires_grad],
            betas=(config.opt_adamw_beta_1, config.opt_adamw_beta_2),
            eps=config.opt_adamw_epsilon,
            weight_decay=config.opt_adamw_weight_decay,
        )
        return [adamw]

    def learning_rate(self, step: int) -> float:
        """A cosine from the base rate to nothing over the training steps."""
        config = self.config
        warmup = config.opt_learning_rate_warmup_steps
        return cosine(
            step,
            warmup=warmup,
            decay=config.opt_learning_rate_training_steps - warmup,
            base=config.opt_base_learning_rate,
            end=0.0,
        )


def _fused(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights of a model with three projections under the names of one with a fused projection."""
    fused: dict[str, Tensor] = {}
    for name, value in weights.items():
        if ".attention.query." in name:
            names = [name.replace(".query.", f".{part}.") for part in ("query", "key", "value")]
            fused[name.replace(".query.", ".qkv.")] = torch.cat([weights[n] for n in names])
        elif ".attention.key." not in name and ".attention.value." not in name:
            fused[name] = value
    return fused


TASK = FineTuning
