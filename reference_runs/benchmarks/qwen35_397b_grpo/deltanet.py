"""The gated delta rule: a memory of fixed size that decays, and replaces the values of keys.

Written from the published description (Yang et al., "Gated Delta Networks", 2024). Per head, with
keys k, values v, decay a = exp(g) and strength b, the memory S is updated at each position by

    u = b (v - a S'k),    S <- a S + k u',    and a query reads: y = S'q.

Dimensions: B batch, H heads, L sequence length, N chunks, C positions of a chunk, K key width, V
value width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 512
"""Positions that are solved at once; the work of a chunk is quadratic in their number."""


# The number of chunks depends on the sequence: compilation would create a graph per length
@torch.compiler.disable  # type: ignore[untyped-decorator]
def delta_rule(
    q_BHLK: Tensor, k_BHLK: Tensor, v_BHLV: Tensor, g_BHL: Tensor, b_BHL: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """The output at each position, (B, H, L, V), and the final memory, (B, H, K, V)."""
    # Autocast would also reduce the precision of the memory
    with torch.autocast(memory.device.type, enabled=False):
        q, k, v, g, b = map(_chunks, (q_BHLK, k_BHLK, v_BHLV, g_BHL, b_BHL))
        y_XNCV, last = _in_chunks(q, k, v, g, b, memory.flatten(0, 1))
    y_XLV = y_XNCV.flatten(1, 2)[:, : q_BHLK.shape[2]]
    return y_XLV.reshape(v_BHLV.shape), last.view(memory.shape)


def _chunks(x_BHL: Tensor) -> Tensor:
    """Cut the positions, (B, H, L, ...), into chunks, (B x H, N, C, ...).

    Zeros fill the last chunk: such a position neither changes nor decays the memory.
    """
    length = x_BHL.shape[2]
    size = min(CHUNK, length)
    fill = [0, 0] * (x_BHL.dim() - 3) + [0, -length % size]
    x_XLK = F.pad(x_BHL, fill).flatten(0, 1)
    return x_XLK.view(len(x_XLK), -1, size, *x_XLK.shape[2:])


def _in_chunks(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, b: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """The output, (B x H, N, C, V), and the final memory, (B x H, K, V).

    The updates u of a chunk solve a triangular system. Its solution is linear in the memory before
    the chunk, so all chunks are solved at once, and only the memory is computed chunk by chunk.
    """
    total = g.cumsum(-1)  # log decay since the start of the chunk: (B x H, N, C)
    size = total.shape[-1]
    later = torch.ones(size, size, dtype=torch.bool, device=g.device).triu(1)
    # Masked as logarithms: those of later positions are positive, and would overflow
    since = (total[..., :, None] - total[..., None, :]).masked_fill(later, -torch.inf).exp()
    strength, kept = b[..., None], total.exp()[..., None]
    coupling = (strength * since * (k @ k.mT)).tril(-1)
    known = torch.cat((strength * v, strength * kept * k), dim=-1)
    solved = torch.linalg.solve_triangular(coupling, known, upper=False, unitriangular=True)
    fresh, replaced = solved.split([v.shape[-1], k.shape[-1]], dim=-1)
    left = (total[..., -1:] - total).exp()[..., None]
    columns = (fresh, replaced, (left * k).mT, kept[..., -1:, :])
    updates, memories = [], []
    for fresh_c, replaced_c, keys_c, kept_c in zip(*(x.unbind(1) for x in columns), strict=True):
        memories.append(memory)
        updates.append(torch.baddbmm(fresh_c, replaced_c, memory, alpha=-1))
        memory = torch.baddbmm(kept_c * memory, keys_c, updates[-1])
    y = kept * (q @ torch.stack(memories, 1))
    return y + (since * (q @ k.mT)) @ torch.stack(updates, 1), memory


def unit(x: Tensor) -> Tensor:
    """Vectors along the last axis normalized to length 1; those near 0 are shorter."""
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + 1e-6)


def causal_convolution(x_BLC: Tensor, weight_CW: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
    """Each channel's weighted sum over its last W positions, and the last W - 1 inputs.

    `before` (B, W - 1, C) are the preceding inputs.
    """
    length, x = x_BLC.shape[1], torch.cat((before, x_BLC), dim=1)
    # Shifted products: torch's depthwise convolution is slower, especially in the backward pass
    y_BLC = x[:, :length] * weight_CW[:, 0]
    for shift in range(1, weight_CW.shape[1]):
        y_BLC = torch.addcmul(y_BLC, x[:, shift : shift + length], weight_CW[:, shift])
    return y_BLC, x[:, length:]
