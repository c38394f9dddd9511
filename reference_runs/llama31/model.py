"""The Llama 3.1 decoder: grouped-query attention, rotary positions with scaling, SwiGLU, RMSNorm.

Written from the published description (Llama 3.1 model card and paper, 2024). Shape letters:
B batch, L sequence length, D model width, H query heads, K key-value heads, E width of a head,
F feed-forward width, V vocabulary.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from podium.reference_runs.llama31.config import Decoder

RMS_EPSILON = 1e-5
LOW_FREQUENCY, HIGH_FREQUENCY = 1.0, 4.0
"""Waves per original context length between which the scaling of rotary positions fades in."""
SLICE = 2048
"""Tokens whose scores are held at once: those of 8192 over 128 256 words take 4 GB."""


def rotary_frequencies(config: Decoder) -> Tensor:
    """Angle per position of each pair of a head's channels, (E/2,), with Llama 3.1's scaling.

    Slow waves are stretched by the scaling factor, fast ones kept, those between blended.
    """
    size = config.width // config.heads
    exponents = torch.arange(0, size, 2, dtype=torch.float32, device="cpu") / size
    frequency = config.rope_theta**-exponents
    waves = config.rope_original_length * frequency / (2 * math.pi)
    keep = ((waves - LOW_FREQUENCY) / (HIGH_FREQUENCY - LOW_FREQUENCY)).clamp(0, 1)
    return frequency * (keep + (1 - keep) / config.rope_scaling)


def rotate(x_BHLE: Tensor, angles_LP: Tensor) -> Tensor:
    """Turn each pair of channels (first half, second half) by its position's angle."""
    cos, sin = angles_LP.cos(), angles_LP.sin()
    # In single precision: half cannot tell neighbouring angles of far positions apart
    first, second = x_BHLE.float().chunk(2, dim=-1)
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return turned.type_as(x_BHLE)


def attend(q_BHLE: Tensor, k_BKLE: Tensor, v_BKLE: Tensor) -> Tensor:
    """Causal attention of grouped heads to all earlier positions, (B, H, L, E)."""
    return F.scaled_dot_product_attention(q_BHLE, k_BKLE, v_BKLE, is_causal=True, enable_gqa=True)


def joined_heads(y_BHLE: Tensor) -> Tensor:
    """The heads' outputs side by side, (B, L, H·E)."""
    return y_BHLE.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """Causal self-attention in which groups of query heads share a key-value head."""

    def __init__(self, config: Decoder) -> None:
        super().__init__()
        size = config.width // config.heads
        self.size = size
        self.query = nn.Linear(config.width, config.heads * size, bias=False)
        self.key = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.value = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.out = nn.Linear(config.heads * size, config.width, bias=False)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """Attend to earlier positions; (B, L, D) to (B, L, D)."""
        batch, length, _ = x_BLD.shape
        # However many heads this rank has: tensor parallelism shares them out
        q_BHLE = self.query(x_BLD).view(batch, length, -1, self.size).transpose(1, 2)
        k_BKLE = self.key(x_BLD).view(batch, length, -1, self.size).transpose(1, 2)
        v_BKLE = self.value(x_BLD).view(batch, length, -1, self.size).transpose(1, 2)
        y_BHLE = attend(rotate(q_BHLE, angles_LP), rotate(k_BKLE, angles_LP), v_BKLE)
        y: Tensor = self.out(joined_heads(y_BHLE))
        return y


class FeedForward(nn.Module):
    """SwiGLU: one projection gates another."""

    def __init__(self, config: Decoder) -> None:
        super().__init__()
        self.gate = nn.Linear(config.width, config.ffn_width, bias=False)
        self.up = nn.Linear(config.width, config.ffn_width, bias=False)
        self.down = nn.Linear(config.ffn_width, config.width, bias=False)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        y: Tensor = self.down(F.silu(self.gate(x_BLD)) * self.up(x_BLD))
        return y


class Block(nn.Module):
    """Attention and feed-forward, each behind a norm and added to its input."""

    def __init__(self, config: Decoder, attention: type[nn.Module]) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.attention = attention(config)
        self.ffn_norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.ffn = FeedForward(config)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        x_BLD = x_BLD + self.attention(self.attention_norm(x_BLD), angles_LP)
        y: Tensor = x_BLD + self.ffn(self.ffn_norm(x_BLD))
        return y


class Stack(nn.Module):
    """An embedding, blocks, a norm and an untied output projection: what all such decoders are.

    `blocks` are built here, between the embedding and the norm; each takes (B, L, D) and angles.
    """

    frequencies: Tensor

    def __init__(self, config: Decoder, blocks: Iterable[nn.Module], frequencies: Tensor) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.RMSNorm(config.width, eps=RMS_EPSILON)
        self.output = nn.Linear(config.width, config.vocabulary, bias=False)
        # Not in checkpoints: it follows from the config
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.recompute = config.recompute

    def forward(self, tokens_BL: Tensor, targets_BL: Tensor | None = None) -> Tensor:
        """Scores of each next token, (B, L, V); with targets, their cross-entropy summed."""
        positions = torch.arange(tokens_BL.shape[1], device=tokens_BL.device)
        angles_LP = positions[:, None] * self.frequencies.to(tokens_BL.device)
        x_BLD = self.embedding(tokens_BL)
        for block in self.blocks:
            x_BLD = self._checkpointed(block, x_BLD, angles_LP)
        if targets_BL is None:
            return self._scores(x_BLD)
        flat = x_BLD.flatten(0, 1), targets_BL.flatten()
        slices = zip(*(torch.split(each, SLICE) for each in flat), strict=True)
        return torch.stack([self._checkpointed(self._entropy, x, t) for x, t in slices]).sum()

    def _scores(self, x: Tensor) -> Tensor:
        scores: Tensor = self.output(self.norm(x))
        return scores

    def _entropy(self, x_TD: Tensor, targets_T: Tensor) -> Tensor:
        return F.cross_entropy(self._scores(x_TD).float(), targets_T, reduction="sum")

    def _checkpointed(self, part: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        """What a part gives; of its work only the inputs are kept for the backward pass."""
        if self.recompute and torch.is_grad_enabled():
            y: Tensor = checkpoint(part, *inputs, use_reentrant=False)
            return y
        return part(*inputs)


class Llama(Stack):
    """The decoder with random weights."""

    def __init__(self, config: Decoder, attention: type[nn.Module] = Attention) -> None:
        blocks = (Block(config, attention) for _ in range(config.layers))
        super().__init__(config, blocks, rotary_frequencies(config))
        self.apply(_initialise)
        for name, parameter in self.named_parameters():
            if name.endswith(("out.weight", "down.weight")):
                # Each block adds twice to the stream: keep its variance independent of depth.
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * config.layers))


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
