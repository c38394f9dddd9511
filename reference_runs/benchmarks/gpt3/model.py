"""The GPT-3 decoder: learned positions, LayerNorm before each part, GELU, biases, a tied output.

Written from Brown et al., 2020, section 2.1, and Radford et al., "Language Models are Unsupervised
Multitask Learners", 2019; attention is dense in all layers, as in the benchmark. Dimensions: B
batch, L sequence length, D model width, H heads, E head width, T tokens, V vocabulary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.attention import attend, joined_heads, split_heads
from podium.reference_runs.modeling.decoder import Stack

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.gpt3.config import Gpt3


class Block(nn.Module):
    """Attention and feed-forward, each after a norm and with a residual connection."""

    def __init__(self, config: Gpt3) -> None:
        super().__init__()
        width, inner = config.width, config.ffn_width
        self.size = width // config.heads
        self.attention_norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.ffn_norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)

    def forward(self, x_BLD: Tensor, _: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D); positions are not rotary."""
        parts = self.qkv(self.attention_norm(x_BLD)).chunk(3, dim=-1)
        q_BHLE, k_BHLE, v_BHLE = (split_heads(part, self.size) for part in parts)
        x_BLD = x_BLD + self.out(joined_heads(attend(q_BHLE, k_BHLE, v_BHLE)))
        inner = F.gelu(self.up(self.ffn_norm(x_BLD)), approximate="tanh")
        y: Tensor = x_BLD + self.down(inner)
        return y


class Decoder(Stack):
    """The decoder with random weights, all with one deviation, regardless of the depth."""

    def __init__(self, config: Gpt3) -> None:
        blocks = (Block(config) for _ in range(config.layers))
        super().__init__(config, blocks, torch.empty(0))
        self.position_embedding = nn.Embedding(config.max_sequence_length, config.width)
        self.norm = nn.LayerNorm(config.width)
        # The embedding is also the output
        del self.output
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=config.initial_deviation)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def embedded(self, tokens_BL: Tensor) -> Tensor:
        """The input of the first block: word plus position embeddings, (B, L, D)."""
        places_LD = self.position_embedding.weight[: tokens_BL.shape[1]]
        x_BLD: Tensor = self.embedding(tokens_BL) + places_LD
        return x_BLD

    def scores(self, x_TD: Tensor) -> Tensor:
        """Logits over the vocabulary, (..., V), from the tied embedding."""
        return F.linear(x_TD, self.embedding.weight)
