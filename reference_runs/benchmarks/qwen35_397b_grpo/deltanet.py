"""The gated delta rule: a memory of fixed size that forgets, and replaces what a key held.

Written from the published description (Yang et al., "Gated Delta Networks", 2024). Per head, with
keys k, values v, decay a = exp(g) and strength b, the memory S is moved at each position by

    u = b (v - a S'k),    S <- a S + k u',    and read by a query: y = S'q.

Shape letters: B batch, H heads, L sequence length, C positions of a chunk, K width of a key,
V width of a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 64
"""Positions that are solved at once; the work of a chunk grows with its square."""


# As many chunks as the sequence is long: compiled would be a graph for each length
@torch.compiler.disable  # type: ignore[untyped-decorator]
def delta_rule(
    q_BHLK: Tensor, k_BHLK: Tensor, v_BHLV: Tensor, g_BHL: Tensor, b_BHL: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """What is read at each position, (B, H, L, V), and the memory behind the last, (B, H, K, V).

    Within a chunk the u solve a triangular system, so that Python loops over chunks only.
    """
    read = []
    for begin in range(0, q_BHLK.shape[2], CHUNK):
        chunk = slice(begin, begin + CHUNK)
        q, k, v, g, b = (each[:, :, chunk] for each in (q_BHLK, k_BHLK, v_BHLV, g_BHL, b_BHL))
        y, memory = _one_chunk(q, k, v, g, b, memory)
        read.append(y)
    return torch.cat(read, dim=2), memory


def _one_chunk(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, b: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    total = g.cumsum(-1)  # decay since the chunk began, as a logarithm: (B, H, C)
    size = total.shape[-1]
    later = torch.ones(size, size, dtype=torch.bool, device=g.device).triu(1)
    # Masked as logarithms: of a later position they are positive, and would overflow
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
    """Vectors along the last axis with length 1; those near 0 are shorter."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def causal_convolution(x_BLC: Tensor, weight_CW: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Each channel's weighted sum over its last W positions, and the last W - 1 inputs.

    `before` (B, W - 1, C) are the inputs that came before.
    """
    length, x = x_BLC.shape[1], torch.cat((before, x_BLC), dim=1)
    # Shifted products: torch's convolution of single channels takes longer, above all backward
    shifted = (x[:, w : w + length] * weight_CW[:, w] for w in range(weight_CW.shape[1]))
    return torch.stack([*shifted]).sum(0), x[:, length:]
