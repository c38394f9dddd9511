"""The Llama 3.1 decoder: grouped-query attention, rotary positions with scaling, SwiGLU, RMSNorm.

Written from the published description (Llama 3.1 model card and paper, 2024). Dimensions: B batch,
L sequence length, D model width, H query heads, K key-value heads, E head width, F feed-forward
width, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from torch import Tensor, nn

from podium.reference_runs.modeling import attention
from podium.reference_runs.modeling.attention import attend, joined_heads, rotate, split_heads
from podium.reference_runs.modeling.decoder import (
    DEEP,
    RMS_EPSILON,
    FeedForward,
    Stack,
    deviation_of,
)

if TYPE_CHECKING:
    from podium.reference_runs.modeling.language.config import RotaryConfig

LOW_FREQUENCY, HIGH_FREQUENCY = 1.0, 4.0
"""Waves per original context length between which the scaling of rotary positions fades in."""


def rotary_frequencies(config: RotaryConfig) -> Tensor:
    """Angle per position for each pair of a head's channels, (E/2,), with Llama 3.1's scaling.

    Low frequencies are scaled, high ones are unchanged, those between are interpolated.
    """
    frequency = attention.rotary_frequencies(config.width // config.heads, config.rope_theta)
    waves = config.rope_original_length * frequency / (2 * math.pi)
    keep = ((waves - LOW_FREQUENCY) / (HIGH_FREQUENCY - LOW_FREQUENCY)).clamp(0, 1)
    return frequency * (keep + (1 - keep) / config.rope_scaling)


class Attention(nn.Module):
    """Causal self-attention in which groups of query heads share a key-value head."""

    attend = staticmethod(attend)

    def __init__(self, config: RotaryConfig) -> None:
        super().__init__()
        size = config.width // config.heads
        self.size = size
        self.query = nn.Linear(config.width, config.heads * size, bias=False)
        self.key = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.value = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.out = nn.Linear(config.heads * size, config.width, bias=False)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """Attend to earlier positions; (B, L, D) to (B, L, D)."""
        # Any number of heads: tensor parallelism divides them among the ranks
        q_BHLE, k_BKLE, v_BKLE = (
            split_heads(part(x_BLD), self.size) for part in (self.query, self.key, self.value)
        )
        y_BHLE = self.attend(rotate(q_BHLE, angles_LP), rotate(k_BKLE, angles_LP), v_BKLE)
        y: Tensor = self.out(joined_heads(y_BHLE))
        return y


class Block(nn.Module):
    """Attention and feed-forward, each after a norm and with a residual connection."""

    def __init__(self, config: RotaryConfig, kind: type[nn.Module]) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.attention = kind(config)
        self.ffn_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.ffn = FeedForward(config.width, config.ffn_width)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        x_BLD = x_BLD + self.attention(self.attention_norm(x_BLD), angles_LP)
        y: Tensor = x_BLD + self.ffn(self.ffn_norm(x_BLD))
        return y


class Llama(Stack):
    """The decoder with random weights."""

    def __init__(self, config: RotaryConfig, kind: type[nn.Module] = Attention) -> None:
        blocks = (Block(config, kind) for _ in range(config.layers))
        super().__init__(config, blocks, rotary_frequencies(config))
        self.apply(_initialise)
        for name, parameter in self.named_parameters():
            # A second initialization, so that a seed keeps its values across versions
            if name.endswith(DEEP):
                nn.init.normal_(parameter, std=deviation_of(name, 0.02, config.layers))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
