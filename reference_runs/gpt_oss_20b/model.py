"""The GPT-OSS decoder as the benchmark configures it: experts, and windowed attention in between.

Written from the published description (gpt-oss model card, 2025). Shape letters: B batch,
L sequence length, D model width, H query heads, K key-value heads, E width of a head,
F feed-forward width of an expert, V vocabulary, W window, N blocks of a sequence, T tokens times
the experts that each goes through.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.llama31.model import RMS_EPSILON, Stack, attend, joined_heads, rotate

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.distributed import ProcessGroup

    from podium.reference_runs.gpt_oss_20b.config import GptOss


class Attention(nn.Module):
    """Causal self-attention of grouped heads, over all earlier positions or a window of them."""

    def __init__(self, config: GptOss, window: int | None) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.window = config.heads, config.kv_heads, window
        size = config.head_width
        self.query = nn.Linear(config.width, config.heads * size, bias=False)
        self.key = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.value = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.out = nn.Linear(config.heads * size, config.width, bias=False)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        q_BHLE = rotate(_heads(self.query(x_BLD), self.heads), angles_LP)
        k_BKLE = rotate(_heads(self.key(x_BLD), self.kv_heads), angles_LP)
        v_BKLE = _heads(self.value(x_BLD), self.kv_heads)
        if self.window is None:
            y_BHLE = attend(q_BHLE, k_BKLE, v_BKLE)
        else:
            y_BHLE = windowed(q_BHLE, k_BKLE, v_BKLE, self.window)
        y: Tensor = self.out(joined_heads(y_BHLE))
        return y


def _heads(x_BLD: Tensor, heads: int) -> Tensor:
    return x_BLD.view(*x_BLD.shape[:2], heads, -1).transpose(1, 2)


def windowed(q_BHLE: Tensor, k_BKLE: Tensor, v_BKLE: Tensor, window: int) -> Tensor:
    """Attention to a token's own position and so many before it; (B, H, L, E).

    A block of W queries needs the keys of its own block and the one before, so that work grows
    with the length of a sequence and not with its square.
    """
    batch, _, length, _ = q_BHLE.shape
    fill = -length % window
    q, k, v = (_blocks(x, window, fill) for x in (q_BHLE, k_BKLE, v_BKLE))
    # Before the first block comes a block of nothing, which the mask hides.
    k, v = (torch.cat((F.pad(x, (0, 0, 0, 0, 0, 0, 1, 0))[:, :-1], x), dim=-2) for x in (k, v))
    mask = _window_mask(q.shape[1], window, q.device).repeat(batch, 1, 1, 1)
    y = F.scaled_dot_product_attention(
        q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1), attn_mask=mask, enable_gqa=True
    )
    y_BHLE: Tensor = y.view(batch, -1, *y.shape[1:]).transpose(1, 2).flatten(2, 3)
    return y_BHLE[:, :, :length]


def _blocks(x_BHLE: Tensor, window: int, fill: int) -> Tensor:
    """Cut the sequence into blocks, (B, N, H, W, E)."""
    x = F.pad(x_BHLE, (0, 0, 0, fill))
    return x.view(*x.shape[:2], -1, window, x.shape[-1]).transpose(1, 2)


def _window_mask(blocks: int, window: int, device: torch.device) -> Tensor:
    """Which keys of the block before and its own a query of a block sees, (N, 1, W, 2W)."""
    query = torch.arange(window, device=device)[:, None] + window
    key = torch.arange(2 * window, device=device)
    seen = (key <= query) & (key >= query - window)
    there = (torch.arange(blocks, device=device)[:, None, None] > 0) | (key >= window)
    return (seen & there)[:, None]


class Experts(nn.Module):
    """SwiGLU layers, each with its own tokens; along `ep` a rank has a part of them."""

    def __init__(self, config: GptOss) -> None:
        super().__init__()
        width, inner = config.width, config.ffn_width
        self.gate_up = nn.Parameter(torch.empty(config.experts, width, 2 * inner))
        self.down = nn.Parameter(torch.empty(config.experts, inner, width))
        self.here: Callable[[Tensor], Tensor] = _whole
        """Of a weight, the part for the experts that are here."""

    def forward(self, x_TD: Tensor, sizes: list[int]) -> Tensor:
        """(T, D) to (T, D): `sizes` tokens for each expert that is here, one after the other."""
        gate_up, down = self.here(self.gate_up), self.here(self.down)
        parts = torch.split(x_TD, sizes)
        return torch.cat([_expert(*each) for each in zip(parts, gate_up, down, strict=True)])


def _whole(weight: Tensor) -> Tensor:
    return weight


def _expert(x: Tensor, gate_up: Tensor, down: Tensor) -> Tensor:
    """What one expert makes of the tokens that chose it."""
    gate, up = (x @ gate_up).chunk(2, dim=-1)
    y: Tensor = (F.silu(gate) * up) @ down
    return y


class Mixture(nn.Module):
    """Experts, of which each token goes through the few that a router chooses."""

    def __init__(self, config: GptOss) -> None:
        super().__init__()
        self.count, self.active = config.experts, config.active_experts
        self.router = nn.Linear(config.width, config.experts, bias=False)
        self.experts = Experts(config)
        self.group: ProcessGroup | None = None
        """The ranks that the experts are divided among."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        x = x_BLD.flatten(0, 1)
        scores, chosen = self.router(x).float().topk(self.active, dim=-1)
        # Only the chosen experts' scores count: the softmax is taken over those.
        weight_T = scores.softmax(dim=-1).flatten()
        # Stable, so that sums over an expert's tokens have the same order in every run
        order_T = chosen.flatten().argsort(stable=True)
        token_T = order_T // self.active
        sizes_E = torch.bincount(chosen.flatten(), minlength=self.count)
        done = self._through_experts(x[token_T], sizes_E)
        weighted = done * weight_T[order_T, None].type_as(done)
        y = torch.zeros_like(x, dtype=done.dtype).index_add(0, token_T, weighted)
        return y.view(x_BLD.shape)

    def _through_experts(self, x_TD: Tensor, sizes_E: Tensor) -> Tensor:
        if self.group is None:
            done: Tensor = self.experts(x_TD, sizes_E.tolist())
            return done
        from podium.reference_runs.parallel.experts import through

        return through(self.experts, x_TD, sizes_E, self.group)


class Block(nn.Module):
    """Attention and experts, each behind a norm and added to its input."""

    def __init__(self, config: GptOss, window: int | None) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.attention = Attention(config, window)
        self.mixture_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.mixture = Mixture(config)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        x_BLD = x_BLD + self.attention(self.attention_norm(x_BLD), angles_LP)
        y: Tensor = x_BLD + self.mixture(self.mixture_norm(x_BLD))
        return y


class Decoder(Stack):
    """The decoder with random weights; windowed layers alternate with full ones."""

    def __init__(self, config: GptOss) -> None:
        windows = (config.window if layer % 2 == 0 else None for layer in range(config.layers))
        # Unscaled: the benchmark leaves out the released model's stretching of positions
        exponents = torch.arange(0, config.head_width, 2, device="cpu") / config.head_width
        blocks = (Block(config, window) for window in windows)
        super().__init__(config, blocks, config.rope_theta**-exponents)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                # Each block adds twice to the stream: keep its variance independent of depth.
                deep = name.endswith(("out.weight", "down"))
                less = math.sqrt(2 * config.layers if deep else 1)
                nn.init.normal_(parameter, std=config.initial_deviation / less)
