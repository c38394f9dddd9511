"""Llama 2 with one fused projection for query, key and value, and low-rank adapters on it.

LoRA as published (Hu et al., 2021): y = W x + (alpha / rank) B A dropout(x), with W frozen and B
zero at the start. Dimensions as in `podium.reference_runs.modeling.language.llama`; R is the rank.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

from torch import Tensor, nn

from podium.reference_runs.modeling.attention import attend, joined_heads, rotate
from podium.reference_runs.modeling.language.llama import Llama

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.llama2_70b_lora.config import Llama2Lora
    from podium.reference_runs.modeling.language.config import RotaryConfig


class Adapted(nn.Linear):
    """A frozen projection and its trained low-rank adapter."""

    def __init__(self, inputs: int, outputs: int, config: Llama2Lora) -> None:
        super().__init__(inputs, outputs, bias=False)
        self.weight.requires_grad_(False)
        self.down = nn.Linear(inputs, config.lora_rank, bias=False)
        self.up = nn.Linear(config.lora_rank, outputs, bias=False)
        self.dropout = nn.Dropout(config.lora_dropout)
        self.scale = config.lora_alpha / config.lora_rank

    def forward(self, x: Tensor) -> Tensor:
        """(…, inputs) to (…, outputs)."""
        adapted: Tensor = self.up(self.down(self.dropout(x)))
        return super().forward(x) + self.scale * adapted


class AdaptedAttention(nn.Module):
    """Grouped-query attention whose two projections have adapters."""

    attend = staticmethod(attend)

    def __init__(self, config: RotaryConfig) -> None:
        super().__init__()
        lora = cast("Llama2Lora", config)  # the decoder passes its config to the blocks
        size = config.width // config.heads
        self.heads, self.kv_heads = config.heads, config.kv_heads
        fused = (config.heads + 2 * config.kv_heads) * size
        self.qkv = Adapted(config.width, fused, lora)
        self.out = Adapted(config.heads * size, config.width, lora)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """Attend to earlier positions; (B, L, D) to (B, L, D)."""
        batch, length, _ = x_BLD.shape
        heads = (self.heads, self.kv_heads, self.kv_heads)
        fused_BHLE = self.qkv(x_BLD).view(batch, length, sum(heads), -1).transpose(1, 2)
        q_BHLE, k_BKLE, v_BKLE = fused_BHLE.split(heads, dim=1)
        y_BHLE = self.attend(rotate(q_BHLE, angles_LP), rotate(k_BKLE, angles_LP), v_BKLE)
        y: Tensor = self.out(joined_heads(y_BHLE))
        return y


def adapted_llama(config: Llama2Lora) -> Llama:
    """The decoder, frozen except for its adapters, which initially change nothing."""
    model = Llama(config, AdaptedAttention)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(is_adapter(name))
        if not is_adapter(name):
            continue
        if ".down." in name:
            # torch's own initialization of a Linear, which the decoder's initialization replaced
            nn.init.kaiming_uniform_(parameter, a=math.sqrt(5))
        else:
            nn.init.zeros_(parameter)
    return model


def is_adapter(name: str) -> bool:
    """Whether the parameter is trained."""
    # The feed-forward layers have a `down` and an `up` as well: those stay frozen
    return ".attention." in name and (".down." in name or ".up." in name)
