"""The gated delta rule: a memory of fixed size that decays, and replaces the values of keys.

Written from the published description (Yang et al., "Gated Delta Networks", 2024). Per head, with
keys k, values v, decay a = exp(g) and strength b, the memory S is updated at each position by

    u = b (v - a S'k),    S <- a S + k u',    and a query reads: y = S'q.

Dimensions: B batch, H heads, L sequence length, C positions of a chunk, K key width, V value width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 64
"""Positions that are solved at once; the work of a chunk is quadratic in their number."""


# The number of chunks depends on the sequence: compilation would create a graph per length
@torch.compiler.disable  # type: ignore[untyped-decorator]
def delta_rule(
    q_BHLK: Tensor, k_BHLK: Tensor, v_BHLV: Tensor, g_BHL: Tensor, b_BHL: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """The output at each position, (B, H, L, V), and the final memory, (B, H, K, V).

    Within a chunk, u solves a triangular system, so Python loops only over chunks.
    """
    read = []
    for begin in range(0, q_BHLK.shape[2], CHUNK):
        chunk = slice(begin, begin + CHUNK)
        q, k, v, g, b = (tensor[:, :, chunk] for tensor in (q_BHLK, k_BHLK, v_BHLV, g_BHL, b_BHL))
        y, memory = _one_chunk(q, k, v, g, b, memory)
        read.append(y)
    return torch.cat(read, dim=2), memory


def _one_chunk(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, b: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    total = g.cumsum(-1)  # log decay since the start of the chunk: (B, H, C)
    size = total.shape[-1]
    later = torch.ones(size, size, dtype=torch.bool, device=g.device).triu(1)
    # Masked as logarithms: those of later positions are positive, and would overflow
    since = (total[..., :, None] - total[..., None, :]).masked_fill(later, -torch.inf).exp()
    strength, kept = b[..., None], total.exp()[..., None]
    coupling = (strength * since * (k @ k.mT)).tril(-1)
    u = torch.linalg.solve_triangular(
        coupling, strength * (v - kept * (k @ memory)), upper=False, unitriangular=True
    )
    y = kept * (q @ memory) + (since * (q @ k.mT)) @ u
    left = (total[..., -1:] - total).exp()[..., None]
    return y, kept[..., -1:, :] * memory + (left * k).mT @ u


def unit(x: Tensor) -> Tensor:
    """Vectors along the last axis normalized to length 1; those near 0 are shorter."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def causal_convolution(x_BLC: Tensor, weight_CW: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Each channel's weighted sum over its last W positions, and the last W - 1 inputs.

    `before` (B, W - 1, C) are the preceding inputs.
    """
    length, x = x_BLC.shape[1], torch.cat((before, x_BLC), dim=1)
    # Shifted products: torch's depthwise convolution is slower, especially in the backward pass
    shifted = (x[:, w : w + length] * weight_CW[:, w] for w in range(weight_CW.shape[1]))
    return torch.stack([*shifted]).sum(0), x[:, length:]
