"""BERT, written from Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers", 2018.

Dimensions: B batch, L sequence length, M masked words, D width,
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.attention import joined_heads, split_heads
from podium.reference_runs.modeling.recompute import recomputed

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.bert.config import Bert as Config

EPSILON = 1e-12
DEVIATION = 0.02
"""Standard deviation of the initial values, from a normal distribution truncated at twice this."""
SEGMENTS = 2


class Embeddings(nn.Module):
    """The normalized sum of word, position and segment embeddings."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.words = nn.Embedding(config.vocabulary, config.width)
        self.positions = nn.Embedding(config.max_sequence_length, config.width)
        self.segments = nn.Embedding(SEGMENTS, config.width)
        self.norm = nn.LayerNorm(config.width, eps=EPSILON)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens_BL: Tensor, segments_BL: Tensor) -> Tensor:
        """(B, L) each to (B, L, D)."""
        positions_LD = self.positions.weight[: tokens_BL.shape[1]]
        x_BLD = self.words(tokens_BL) + positions_LD + self.segments(segments_BL)
        y: Tensor = self.dropout(self.norm(x_BLD))
        return y


class Block(nn.Module):
    """Attention to all words, then a feed-forward layer; each with residual connection and norm.

    Queries, keys and values have separate matrices, since LAMB scales a step by each matrix's norm.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.attention_norm = nn.LayerNorm(width, eps=EPSILON)
        self.up = nn.Linear(width, config.ffn_width)
        self.down = nn.Linear(config.ffn_width, width)
        self.norm = nn.LayerNorm(width, eps=EPSILON)
        self.dropout = nn.Dropout(config.dropout)
        self.head_width = width // config.heads

    def forward(self, x_BLD: Tensor, mask_B11L: Tensor) -> Tensor:
        """(B, L, D) to the same; the mask is false for padding."""
        parts = (layer(x_BLD) for layer in (self.query, self.key, self.value))
        q_BHLE, k_BHLE, v_BHLE = (split_heads(part, self.head_width) for part in parts)
        rate = self.dropout.p if self.training else 0.0
        y_BHLE = F.scaled_dot_product_attention(q_BHLE, k_BHLE, v_BHLE, mask_B11L, rate)
        x_BLD = self.attention_norm(x_BLD + self.dropout(self.out(joined_heads(y_BHLE))))
        inner = F.gelu(self.up(x_BLD), approximate="tanh")
        y: Tensor = self.norm(x_BLD + self.dropout(self.down(inner)))
        return y


class Bert(nn.Module):
    """The encoder, and heads for masked words and for whether the second text follows the first."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.width
        self.embeddings = Embeddings(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.pooler = nn.Linear(width, width)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, eps=EPSILON)
        self.word_bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.relation = nn.Linear(width, 2)
        self.recompute = config.recompute
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                bounds = -2 * DEVIATION, 2 * DEVIATION
                nn.init.trunc_normal_(module.weight, 0.0, DEVIATION, *bounds)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

    def forward(
        self, tokens_BL: Tensor, segments_BL: Tensor, attended_BL: Tensor, positions_BM: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Scores of words at the given positions, (B, M, V), and of following or not, (B, 2).

        attended: false for padding, (B, L).
        """
        x_BLD = self.embeddings(tokens_BL, segments_BL)
        mask_B11L = attended_BL[:, None, None]
        for block in self.blocks:
            x_BLD = recomputed(self.recompute, block, x_BLD, mask_B11L)
        rows = torch.arange(len(x_BLD), device=x_BLD.device)[:, None]
        masked = F.gelu(self.transform(x_BLD[rows, positions_BM]), approximate="tanh")
        words = F.linear(self.transform_norm(masked), self.embeddings.words.weight, self.word_bias)
        relation: Tensor = self.relation(self.pooler(x_BLD[:, 0]).tanh())
        return words, relation
