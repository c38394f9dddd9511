"""The GPT-OSS decoder in the benchmark's configuration: experts, alternating windowed attention.

Written from the published description (gpt-oss model card, 2025). Dimensions: B batch, L sequence
length, D model width, H query heads, K key-value heads, E head width, W window, N blocks of a
sequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.attention import (
    attend,
    for_each_head,
    joined_heads,
    rotary_frequencies,
    rotate,
    split_heads,
)
from podium.reference_runs.modeling.decoder import RMS_EPSILON, Stack, initialise
from podium.reference_runs.modeling.experts import Mixture

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.gpt_oss_20b.config import GptOss


class Attention(nn.Module):
    """Causal self-attention of grouped heads, over all earlier positions or a window of them."""

    def __init__(self, config: GptOss, window: int | None) -> None:
        super().__init__()
        size = config.head_width
        self.size, self.window = size, window
        self.query = nn.Linear(config.width, config.heads * size, bias=False)
        self.key = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.value = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.out = nn.Linear(config.heads * size, config.width, bias=False)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        q_BHLE, k_BKLE, v_BKLE = (
            split_heads(part(x_BLD), self.size) for part in (self.query, self.key, self.value)
        )
        q_BHLE, k_BKLE = rotate(q_BHLE, angles_LP), rotate(k_BKLE, angles_LP)
        if self.window is None:
            y_BHLE = attend(q_BHLE, k_BKLE, v_BKLE)
        else:
            y_BHLE = windowed(q_BHLE, k_BKLE, v_BKLE, self.window)
        y: Tensor = self.out(joined_heads(y_BHLE))
        return y


def windowed(q_BHLE: Tensor, k_BKLE: Tensor, v_BKLE: Tensor, window: int) -> Tensor:
    """Attention to a token's own position and `window` before it; (B, H, L, E).

    A block of W queries needs the keys of this block and the one before, so the work is linear in
    the length of a sequence.
    """
    batch, _, length, _ = q_BHLE.shape
    fill = -length % window
    q, k, v = (_blocks(x, window, fill) for x in (q_BHLE, k_BKLE, v_BKLE))
    # An empty block, hidden by the mask, precedes the first one.
    k, v = (torch.cat((F.pad(x, (0, 0, 0, 0, 0, 0, 1, 0))[:, :-1], x), dim=-2) for x in (k, v))
    mask = _window_mask(q.shape[1], window, q.device).repeat(batch, 1, 1, 1)
    # No kernel of a GPU takes both a mask and heads that share keys
    q, k, v = q.flatten(0, 1), *(for_each_head(x.flatten(0, 1), q.shape[2]) for x in (k, v))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    y_BHLE: Tensor = y.view(batch, -1, *y.shape[1:]).transpose(1, 2).flatten(2, 3)
    return y_BHLE[:, :, :length]


def _blocks(x_BHLE: Tensor, window: int, fill: int) -> Tensor:
    """Cut the sequence into blocks, (B, N, H, W, E)."""
    x = F.pad(x_BHLE, (0, 0, 0, fill))
    return x.view(*x.shape[:2], -1, window, x.shape[-1]).transpose(1, 2)


def _window_mask(blocks: int, window: int, device: torch.device) -> Tensor:
    """The mask of keys in the previous and the same block for each query, (N, 1, W, 2W)."""
    query = torch.arange(window, device=device)[:, None] + window
    key = torch.arange(2 * window, device=device)
    seen = (key <= query) & (key >= query - window)
    there = (torch.arange(blocks, device=device)[:, None, None] > 0) | (key >= window)
    return (seen & there)[:, None]


class Block(nn.Module):
    """Attention and experts, each after a norm and with a residual connection."""

    def __init__(self, config: GptOss, window: int | None) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.attention = Attention(config, window)
        self.mixture_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.mixture = Mixture(
            config.width, config.ffn_width, config.experts, config.active_experts
        )

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        x_BLD = x_BLD + self.attention(self.attention_norm(x_BLD), angles_LP)
        y: Tensor = x_BLD + self.mixture(self.mixture_norm(x_BLD))
        return y


class Decoder(Stack):
    """The decoder with random weights; windowed layers alternate with full ones."""

    def __init__(self, config: GptOss) -> None:
        windows = (config.window if layer % 2 == 0 else None for layer in range(config.layers))
        # Unscaled: the benchmark omits the released model's scaling of positions
        frequencies = rotary_frequencies(config.head_width, config.rope_theta)
        blocks = (Block(config, window) for window in windows)
        super().__init__(config, blocks, frequencies)
        initialise(self, config.initial_deviation, config.layers)
