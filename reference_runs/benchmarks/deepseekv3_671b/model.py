"""The DeepSeek-V3 decoder: latent attention, dense and expert layers, multi-token prediction.

Written from the technical report (2024), section 2, and the published configuration. Dimensions: B
batch, L sequence length, D model width, H heads, N channels of a head without positions, R channels
with rotary positions, P pairs of the latter, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from podium.reference_runs.benchmarks.deepseekv3_671b.routing import Balanced
from podium.reference_runs.modeling.attention import (
    attend,
    joined_heads,
    rotate,
    split_heads,
    yarn_frequencies,
)
from podium.reference_runs.modeling.decoder import FeedForward, Stack, initialise

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.deepseekv3_671b.config import DeepSeekV3

EPSILON = 1e-6


class LatentAttention(nn.Module):
    """Causal self-attention with low-rank projections of queries, and of keys and values."""

    def __init__(self, config: DeepSeekV3) -> None:
        super().__init__()
        width, heads, turned = config.width, config.heads, config.rope_width
        self.size = config.nope_width + turned
        self.rank, self.kept = config.kv_rank, config.nope_width
        self.value_width = config.value_width
        self.query_latent = nn.Linear(width, config.query_rank, bias=False)
        self.query_norm = nn.RMSNorm(config.query_rank, eps=EPSILON)
        self.query = nn.Linear(config.query_rank, heads * self.size, bias=False)
        self.kv_latent = nn.Linear(width, config.kv_rank + turned, bias=False)
        self.kv_norm = nn.RMSNorm(config.kv_rank, eps=EPSILON)
        self.kv = nn.Linear(config.kv_rank, heads * (self.kept + self.value_width), bias=False)
        self.out = nn.Linear(heads * self.value_width, width, bias=False)
        # YaRN's sharper softmax for longer contexts: (0.1 ln s + 1) squared
        self.scale = (0.1 * math.log(config.rope_scaling) + 1) ** 2 / math.sqrt(self.size)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        turned = self.size - self.kept
        latent_BLR, key_BLR = torch.split(self.kv_latent(x_BLD), [self.rank, turned], -1)
        q_BHLE = split_heads(self.query(self.query_norm(self.query_latent(x_BLD))), self.size)
        kv_BHLE = split_heads(self.kv(self.kv_norm(latent_BLR)), self.kept + self.value_width)
        k_BHLN, v_BHLE = torch.split(kv_BHLE, [self.kept, self.value_width], -1)
        q_BHLN, q_BHLR = torch.split(q_BHLE, [self.kept, turned], -1)
        k_BHLR = _turned(key_BLR[:, None], angles_LP).expand(-1, k_BHLN.shape[1], -1, -1)
        q = torch.cat((q_BHLN, _turned(q_BHLR, angles_LP)), dim=-1)
        k = torch.cat((k_BHLN, k_BHLR), dim=-1)
        y: Tensor = self.out(joined_heads(attend(q, k, v_BHLE, self.scale)))
        return y


def _turned(x_BHLR: Tensor, angles_LP: Tensor) -> Tensor:
    """Rotate pairs of adjacent channels, the layout of the published weights."""
    return rotate(torch.cat((x_BHLR[..., ::2], x_BHLR[..., 1::2]), dim=-1), angles_LP)


class Block(nn.Module):
    """Attention and feed-forward, each after a norm and with a residual connection.

    `ffn` is the feed-forward of a dense block, or the shared expert of a block with a mixture.
    """

    def __init__(self, config: DeepSeekV3, *, dense: bool) -> None:
        super().__init__()
        inner = config.ffn_width if dense else config.expert_width
        self.attention_norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.attention = LatentAttention(config)
        self.ffn_norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.ffn = FeedForward(config.width, inner)
        self.mixture = None if dense else Balanced(config)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> tuple[Tensor, Tensor]:
        """(B, L, D) to (B, L, D), and the imbalance of its experts, 0 without experts."""
        x_BLD = x_BLD + self.attention(self.attention_norm(x_BLD), angles_LP)
        inner_BLD = self.ffn_norm(x_BLD)
        y_BLD = x_BLD + self.ffn(inner_BLD)
        if self.mixture is None:
            return y_BLD, y_BLD.new_zeros(())
        routed_BLD, uneven = self.mixture(inner_BLD)
        return y_BLD + routed_BLD, uneven


class Ahead(nn.Module):
    """Input of multi-token prediction: a token's state and the embedding of the next token."""

    def __init__(self, config: DeepSeekV3) -> None:
        super().__init__()
        self.token_norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.stream_norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.joined = nn.Linear(2 * config.width, config.width, bias=False)
        self.block = Block(config, dense=False)
        self.norm = nn.RMSNorm(config.width, eps=EPSILON)

    def forward(self, stream_BLD: Tensor, next_BLD: Tensor) -> Tensor:
        """The block's input, (B, L, D)."""
        both = torch.cat((self.token_norm(next_BLD), self.stream_norm(stream_BLD)), dim=-1)
        y: Tensor = self.joined(both)
        return y


class Decoder(Stack):
    """The decoder with random weights."""

    def __init__(self, config: DeepSeekV3) -> None:
        blocks = (Block(config, dense=n < config.dense_layers) for n in range(config.layers))
        frequencies = yarn_frequencies(
            config.rope_width, config.rope_theta, config.rope_scaling, config.rope_original_length
        )
        super().__init__(config, blocks, frequencies, EPSILON)
        self.ahead = Ahead(config)
        self.ahead_weight, self.balance_weight = config.ahead_weight, config.moe_aux_loss_coeff
        initialise(self, config.initial_deviation, config.layers)

    @property
    def more_blocks(self) -> list[nn.Module]:
        """Blocks that are not in `blocks`."""
        return [self.ahead.block]

    def forward(self, tokens_BL: Tensor, targets_BL: Tensor | None = None) -> Tensor:
        """Logits of each next token, (B, L, V); with targets, their summed cross-entropy.

        In training the multi-token loss and the experts' imbalance are added, each as a mean times
        the number of tokens.
        """
        angles_LP = self.angles(tokens_BL)
        x_BLD, uneven = self.embedding(tokens_BL), torch.zeros((), device=tokens_BL.device)
        for block in self.blocks:
            x_BLD, more = self.checkpointed(block, x_BLD, angles_LP)
            uneven = uneven + more
        if targets_BL is None:
            scores_BLV: Tensor = self.output(self.norm(x_BLD))
            return scores_BLV
        loss = self.entropy(x_BLD, targets_BL, self.norm)
        if not self.training:
            return loss
        ahead, more = self._ahead(self.norm(x_BLD), tokens_BL, targets_BL, angles_LP)
        length = tokens_BL.shape[1]
        balance = self.balance_weight * length * (uneven + more)
        # The last position of a sequence has no token after the next
        return loss + self.ahead_weight * length / (length - 1) * ahead + balance

    def _ahead(
        self, stream_BLD: Tensor, tokens_BL: Tensor, targets_BL: Tensor, angles_LP: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The summed cross-entropy of the tokens after the next, and the block's imbalance."""
        x_BLD = self.ahead(stream_BLD[:, :-1], self.embedding(tokens_BL[:, 1:]))
        x_BLD, uneven = self.checkpointed(self.ahead.block, x_BLD, angles_LP[:-1])
        return self.entropy(x_BLD, targets_BL[:, 1:], self.ahead.norm), uneven
