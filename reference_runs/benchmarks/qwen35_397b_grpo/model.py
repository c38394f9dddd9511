"""The Qwen3.5 text decoder: three layers of gated DeltaNet per layer of gated attention, experts.

Written from the published description and configuration (see the README). Dimensions: B batch, L
sequence length, D model width, H heads, K key width, V value width, E attention head width, N
tokens, W words.
"""

from __future__ import annotations

from collections import UserDict
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.qwen35_397b_grpo.deltanet import (
    causal_convolution,
    delta_rule,
    unit,
)
from podium.reference_runs.modeling.attention import (
    for_each_head,
    joined_heads,
    rotary_frequencies,
    rotate,
    split_heads,
)
from podium.reference_runs.modeling.decoder import FeedForward, Stack
from podium.reference_runs.modeling.experts import Mixture
from podium.reference_runs.modeling.recompute import recomputed

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.qwen35_397b_grpo.config import Qwen35

EPSILON = 1e-6
KERNEL = 4
"""Kernel size of the convolution before the delta rule."""
DECAY_RATES = 0.01, 16.0
"""Range of the initial decay rates of heads."""
SEGMENT = 4096
"""Positions whose queries, keys and values exist at once with recomputation."""
INTERVAL = 4
"""Every this many layers, attention replaces the delta rule."""


class Past(UserDict[str, Tensor]):
    """The cached state of a layer for the positions so far; empty before the first.

    Not a dict: FSDP copies the dicts that a module is called with, and a layer updates its state.
    """


class GatedDeltaNet(nn.Module):
    """The delta rule on convolved queries, keys and values; its output is normalized and gated."""

    def __init__(self, config: Qwen35) -> None:
        super().__init__()
        heads, size = config.value_heads, config.delta_head_width
        self.heads, self.size, self.recompute = heads, size, config.recompute
        self.keys, self.values = config.key_heads * size, heads * size
        mixed = 2 * self.keys + self.values
        self.mixed = nn.Linear(config.width, mixed, bias=False)
        self.gate = nn.Linear(config.width, self.values, bias=False)
        self.strength = nn.Linear(config.width, heads, bias=False)
        self.decay = nn.Linear(config.width, heads, bias=False)
        self.convolution = nn.Parameter(torch.empty(mixed, KERNEL))
        self.decay_rate = nn.Parameter(torch.empty(heads))
        """Per head, as a logarithm."""
        self.decay_bias = nn.Parameter(torch.ones(heads))
        self.norm = nn.RMSNorm(size, eps=EPSILON)
        self.out = nn.Linear(self.values, config.width, bias=False)
        nn.init.normal_(self.convolution, std=config.initial_deviation)
        with torch.no_grad():
            self.decay_rate.uniform_(*DECAY_RATES).log_()

    def forward(self, x_BLD: Tensor, angles_LP: Tensor, past: Past | None = None) -> Tensor:
        """(B, L, D) to (B, L, D); positions are implicit in the order."""
        past = Past() if past is None else past
        batch, sizes = len(x_BLD), [self.keys, self.keys, self.values]
        before, memory = past.get("inputs"), past.get("memory")
        if before is None:
            before = x_BLD.new_zeros(batch, KERNEL - 1, sum(sizes))
        mixed, last = causal_convolution(self.mixed(x_BLD), self.convolution, before)
        # A view would keep the inputs of all positions
        past["inputs"] = last.clone()
        if memory is None:
            memory = x_BLD.new_zeros(batch, self.heads, self.size, self.size).float()
        parts = (mixed, self.gate(x_BLD), self.decay(x_BLD), self.strength(x_BLD))
        read = []
        for segment in zip(*(part.split(SEGMENT, dim=1) for part in parts), strict=True):
            y_BLV, memory = recomputed(self.recompute, self._read, *segment, memory)
            read.append(y_BLV)
        past["memory"] = memory
        out: Tensor = self.out(torch.cat(read, dim=1))
        return out

    def _read(
        self, mixed: Tensor, gate: Tensor, decay: Tensor, strength: Tensor, memory: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The gated output of successive positions, (B, L, H x V), and the memory after them.

        In single precision, as the decays of a long sequence multiply.
        """
        sizes = [self.keys, self.keys, self.values]
        parts = torch.split(F.silu(mixed).float(), sizes, dim=-1)
        q, k, v = (split_heads(part, self.size) for part in parts)
        q, k = (for_each_head(unit(tensor), v.shape[1]) for tensor in (q, k))
        softened = F.softplus(decay.float() + self.decay_bias)
        g_BHL = (-self.decay_rate.float().exp() * softened).mT
        b_BHL = strength.float().sigmoid().mT
        y, memory = delta_rule(q * self.size**-0.5, k, v, g_BHL, b_BHL, memory)
        gated = self.norm(y) * F.silu(split_heads(gate.float(), self.size))
        return joined_heads(gated).type_as(gate), memory


class GatedAttention(nn.Module):
    """Causal grouped-query attention with partly rotary heads, and a gate on each output."""

    def __init__(self, config: Qwen35) -> None:
        super().__init__()
        size = config.head_width
        self.size, self.turning = size, config.turning_width
        # For each head the query, followed by the gate
        self.query = nn.Linear(config.width, 2 * config.heads * size, bias=False)
        self.key = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.value = nn.Linear(config.width, config.kv_heads * size, bias=False)
        self.query_norm = nn.RMSNorm(size, eps=EPSILON)
        self.key_norm = nn.RMSNorm(size, eps=EPSILON)
        self.out = nn.Linear(config.heads * size, config.width, bias=False)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor, past: Past | None = None) -> Tensor:
        """(B, L, D) to (B, L, D); with a past, one position at a time."""
        past = Past() if past is None else past
        query, gate = split_heads(self.query(x_BLD), 2 * self.size).chunk(2, dim=-1)
        k, v = (split_heads(part(x_BLD), self.size) for part in (self.key, self.value))
        q = self._turned(self.query_norm(query), angles_LP)
        k = self._turned(self.key_norm(k), angles_LP)
        if past:
            k, v = torch.cat((past["keys"], k), dim=2), torch.cat((past["values"], v), dim=2)
        past["keys"], past["values"] = k, v
        # One query attends to all keys; torch's causal mask would allow only the first
        causal = q.shape[2] > 1
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)
        out: Tensor = self.out(joined_heads(y * gate.sigmoid()))
        return out

    def _turned(self, x_BHLE: Tensor, angles_LP: Tensor) -> Tensor:
        sizes = [self.turning, self.size - self.turning]
        turning, still = torch.split(x_BHLE, sizes, dim=-1)
        return torch.cat((rotate(turning, angles_LP), still), dim=-1)


class SharedMixture(Mixture):
    """Routed experts, and a shared expert with a gate for every token.

    The routing is that of the base class: a softmax over all experts, restricted to the highest and
    normalized to 1, equals a softmax over the scores of the chosen ones.
    """

    def __init__(self, config: Qwen35) -> None:
        width, inner = config.width, config.ffn_width
        super().__init__(width, inner, config.experts, config.active_experts)
        self.shared = FeedForward(width, inner)
        self.shared_gate = nn.Linear(width, 1, bias=False)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        y: Tensor = self.shared_gate(x_BLD).sigmoid() * self.shared(x_BLD)
        return super().forward(x_BLD) + y


class Block(nn.Module):
    """A mixer of positions and experts, each after a norm and with a residual connection."""

    def __init__(self, config: Qwen35, mixer: nn.Module) -> None:
        super().__init__()
        self.mixer_norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.mixer = mixer
        self.mixture_norm = nn.RMSNorm(config.width, eps=EPSILON)
        self.mixture = SharedMixture(config)

    def forward(self, x_BLD: Tensor, angles_LP: Tensor, past: Past | None = None) -> Tensor:
        """(B, L, D) to (B, L, D)."""
        x_BLD = x_BLD + self.mixer(self.mixer_norm(x_BLD), angles_LP, past)
        y: Tensor = x_BLD + self.mixture(self.mixture_norm(x_BLD))
        return y


class Decoder(Stack):
    """The decoder with random weights."""

    def __init__(self, config: Qwen35) -> None:
        kinds = (
            GatedAttention if layer % INTERVAL == INTERVAL - 1 else GatedDeltaNet
            for layer in range(config.layers)
        )
        blocks = (Block(config, kind(config)) for kind in kinds)
        frequencies = rotary_frequencies(config.turning_width, config.rope_theta)
        super().__init__(config, blocks, frequencies)
        self.norm = nn.RMSNorm(config.width, eps=EPSILON)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=config.initial_deviation)

    def forward(
        self,
        tokens_BL: Tensor,
        targets_BL: Tensor | None = None,
        pasts: list[Past] | None = None,
        begin: int = 0,
    ) -> Tensor:
        """Logits of each next token, (B, L, W); with targets, the log-probability of each, (B, L).

        `pasts` has each block's state for the `begin` positions before, and is updated; the logits
        are those of the last position, (B, 1, W).
        """
        positions = torch.arange(begin, begin + tokens_BL.shape[1], device=tokens_BL.device)
        angles_LP = positions[:, None] * self.frequencies.to(tokens_BL.device)
        x_BLD = self.embedding(tokens_BL)
        for number, block in enumerate(self.blocks):
            past = () if pasts is None else (pasts[number],)
            x_BLD = self.checkpointed(block, x_BLD, angles_LP, *past)
        if targets_BL is None:
            return self._scores(x_BLD if pasts is None else x_BLD[:, -1:])
        parts = self.in_slices(self._log_probability, x_BLD, targets_BL)
        return torch.cat(parts).view(targets_BL.shape)

    @property
    def device(self) -> torch.device:
        """The device of its weights."""
        return self.embedding.weight.device

    def no_pasts(self) -> list[Past]:
        """The state of each block before the first position."""
        return [Past() for _ in self.blocks]

    def _scores(self, x: Tensor) -> Tensor:
        scores: Tensor = self.output(self.norm(x))
        return scores

    def _log_probability(self, x_ND: Tensor, targets_N: Tensor) -> Tensor:
        return -F.cross_entropy(self._scores(x_ND).float(), targets_N, reduction="none")
