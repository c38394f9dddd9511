"""Building blocks of the stacks: linear layers, gated attention, triangles.

Source: Jumper et al., Highly accurate protein structure prediction with AlphaFold (2021),
supplementary information 1.6, with its algorithm numbers. Dimensions: B chains, S MSA rows, R
residues, C channels, H heads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Sequence

First = Literal["default", "relu", "glorot", "gating", "final"]


def linear(inputs: int, outputs: int, first: First = "default", *, bias: bool = True) -> nn.Linear:
    """A linear layer with the paper's initial weights (supplementary 1.11.4)."""
    layer = nn.Linear(inputs, outputs, bias=bias)
    if bias:
        nn.init.constant_(layer.bias, 1.0 if first == "gating" else 0.0)
    if first in ("gating", "final"):
        nn.init.zeros_(layer.weight)
    elif first == "glorot":
        nn.init.xavier_uniform_(layer.weight)
    else:
        # A normal distribution, truncated at two deviations, with variance 1 or 2 over the inputs
        deviation = ((2.0 if first == "relu" else 1.0) / inputs) ** 0.5 / CUT_DEVIATION
        nn.init.trunc_normal_(layer.weight, 0.0, deviation, -2 * deviation, 2 * deviation)
    return layer


CUT_DEVIATION = 0.87962566103423978
"""Standard deviation of a standard normal distribution that is truncated at 2."""


class Attention(nn.Module):
    """Multi-head attention, whose output is scaled by a gate from the query."""

    def __init__(
        self, query: int, keys: int, hidden: int, heads: int, *, gated: bool = True
    ) -> None:
        super().__init__()
        self.heads, width = heads, hidden * heads
        self.query = linear(query, width, "glorot", bias=False)
        self.key = linear(keys, width, "glorot", bias=False)
        self.value = linear(keys, width, "glorot", bias=False)
        self.gate = linear(query, width, "gating") if gated else None
        self.output = linear(width, query, "final")

    def forward(self, query: Tensor, keys: Tensor, bias: Tensor | None = None) -> Tensor:
        """(..., Q, C) attends to (..., K, C); a bias is (..., H, Q, K)."""
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(-2, -3)
            for layer, x in ((self.query, query), (self.key, keys), (self.value, keys))
        )
        attended = _attended(q, k, v, bias).transpose(-2, -3).flatten(-2)
        if self.gate is not None:
            attended = attended * self.gate(query).sigmoid()
        result: Tensor = self.output(attended)
        return result


def _attended(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """Softmax of products plus bias, times the values; dimensions are (..., H, Q or K, C).

    Torch's own function computes it this way for five dimensions, for which it has no fused kernel;
    torch.compile (2.13) uses the fused kernel for four dimensions, and fails.
    """
    root = q.shape[-1] ** -0.25
    scores = (q * root) @ (k * root).transpose(-2, -1)
    if bias is not None:
        scores = scores + bias
    attended: Tensor = scores.softmax(-1) @ v
    return attended


class RowAttention(nn.Module):
    """Row-wise attention within an MSA, with a bias from the pairs (algorithm 7)."""

    def __init__(self, width: int, pair_width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm, self.pair_norm = nn.LayerNorm(width), nn.LayerNorm(pair_width)
        self.bias = linear(pair_width, heads, bias=False)
        self.attention = Attention(width, width, hidden, heads)

    def forward(self, rows_BSRC: Tensor, pairs_BRRC: Tensor) -> Tensor:
        """The update of the rows."""
        bias_B1HRR = self.bias(self.pair_norm(pairs_BRRC)).permute(0, 3, 1, 2)[:, None]
        normed = self.norm(rows_BSRC)
        update: Tensor = self.attention(normed, normed, bias_B1HRR)
        return update


class ColumnAttention(nn.Module):
    """Column-wise attention within an MSA (algorithm 8)."""

    def __init__(self, width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, width, hidden, heads)

    def forward(self, rows_BSRC: Tensor) -> Tensor:
        """The update of the rows."""
        columns = self.norm(rows_BSRC).transpose(1, 2)
        update: Tensor = self.attention(columns, columns)
        return update.transpose(1, 2)


class GlobalColumnAttention(nn.Module):
    """Attention with a column's mean as query, with shared key and value (algorithm 19)."""

    def __init__(self, width: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query = linear(width, hidden * heads, "glorot", bias=False)
        self.key = linear(width, hidden, "glorot", bias=False)
        self.value = linear(width, hidden, "glorot", bias=False)
        self.gate = linear(width, hidden * heads, "gating")
        self.output = linear(hidden * heads, width, "final")

    def forward(self, rows_BSRC: Tensor) -> Tensor:
        """The update of the rows."""
        columns = self.norm(rows_BSRC).transpose(1, 2)
        query = self.query(columns.mean(2)).unflatten(-1, (self.heads, -1))
        attended = F.scaled_dot_product_attention(query, self.key(columns), self.value(columns))
        result: Tensor = self.output(
            attended.flatten(-2)[:, :, None] * self.gate(columns).sigmoid()
        )
        return result.transpose(1, 2)


class Transition(nn.Module):
    """Two layers with an inner width of `times` the width (algorithms 9 and 15)."""

    def __init__(self, width: int, times: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = linear(width, times * width, "relu")
        self.narrow = linear(times * width, width, "final")

    def forward(self, x: Tensor) -> Tensor:
        """The update."""
        update: Tensor = self.narrow(self.wide(self.norm(x)).relu())
        return update


class OuterProductMean(nn.Module):
    """The mean outer product of two columns over all rows (algorithm 10)."""

    def __init__(self, width: int, pair_width: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.left, self.right = linear(width, hidden), linear(width, hidden)
        self.output = linear(hidden * hidden, pair_width, "final")

    def forward(self, rows_BSRC: Tensor) -> Tensor:
        """The update of the pairs, (B, R, R, C)."""
        normed = self.norm(rows_BSRC)
        product = torch.einsum("bsic,bsjd->bijcd", self.left(normed), self.right(normed))
        update: Tensor = self.output(product.flatten(-2) / rows_BSRC.shape[1])
        return update


class TriangleProduct(nn.Module):
    """The update of a triangle's edge from the product of the others (algorithms 11 and 12)."""

    def __init__(self, width: int, hidden: int, *, outgoing: bool) -> None:
        super().__init__()
        self.equation = "bikc,bjkc->bijc" if outgoing else "bkic,bkjc->bijc"
        self.norm, self.product_norm = nn.LayerNorm(width), nn.LayerNorm(hidden)
        self.left, self.right = linear(width, hidden), linear(width, hidden)
        self.left_gate, self.right_gate = (linear(width, hidden, "gating") for _ in range(2))
        self.gate = linear(width, width, "gating")
        self.output = linear(hidden, width, "final")

    def forward(self, pairs_BRRC: Tensor) -> Tensor:
        """The update of the pairs."""
        normed = self.norm(pairs_BRRC)
        left = self.left(normed) * self.left_gate(normed).sigmoid()
        right = self.right(normed) * self.right_gate(normed).sigmoid()
        product = self.product_norm(torch.einsum(self.equation, left, right))
        update: Tensor = self.output(product) * self.gate(normed).sigmoid()
        return update


class TriangleAttention(nn.Module):
    """Attention between edges that start, or end, at one residue (algorithms 13 and 14)."""

    def __init__(self, width: int, hidden: int, heads: int, *, starting: bool) -> None:
        super().__init__()
        self.starting = starting
        self.norm = nn.LayerNorm(width)
        self.bias = linear(width, heads, bias=False)
        self.attention = Attention(width, width, hidden, heads)

    def forward(self, pairs_BRRC: Tensor) -> Tensor:
        """The update of the pairs."""
        pairs = pairs_BRRC if self.starting else pairs_BRRC.transpose(1, 2)
        normed = self.norm(pairs)
        bias = self.bias(normed).permute(0, 3, 1, 2)[:, None]
        update: Tensor = self.attention(normed, normed, bias)
        return update if self.starting else update.transpose(1, 2)


class SharedDropout(nn.Module):
    """Dropout whose mask is the same along one dimension, with values 0 or `1 / (1 - rate)`."""

    def __init__(self, rate: float, dim: int) -> None:
        super().__init__()
        self.rate, self.dim = rate, dim

    def forward(self, x: Tensor) -> Tensor:
        """The same shape."""
        if not self.training or self.rate == 0:
            return x
        shape = [1 if axis == self.dim else size for axis, size in enumerate(x.shape)]
        return x * F.dropout(x.new_ones(shape), self.rate)


class PairUpdates(nn.Module):
    """Triangles and a transition: the pairs' half of a block, and all of a template's."""

    def __init__(
        self, width: int, product_hidden: int, hidden: int, heads: int, times: int, dropout: float
    ) -> None:
        super().__init__()
        self.products = nn.ModuleList(
            TriangleProduct(width, product_hidden, outgoing=way) for way in (True, False)
        )
        self.attentions = nn.ModuleList(
            TriangleAttention(width, hidden, heads, starting=way) for way in (True, False)
        )
        self.transition = Transition(width, times)
        self.by_row, self.by_column = SharedDropout(dropout, 1), SharedDropout(dropout, 2)

    def _products_then_attentions(self, pairs: Tensor, order: Sequence[nn.ModuleList]) -> Tensor:
        for layers in order:
            for number, layer in enumerate(layers):
                ending = layers is self.attentions and number == 1
                dropped = self.by_column if ending else self.by_row
                pairs = pairs + dropped(layer(pairs))
        return pairs

    def forward(self, pairs_BRRC: Tensor, *, attention_first: bool = False) -> Tensor:
        """The updated pairs; a template's have attention first (algorithm 16)."""
        order = [self.products, self.attentions]
        pairs = self._products_then_attentions(
            pairs_BRRC, order[::-1] if attention_first else order
        )
        changed: Tensor = pairs + self.transition(pairs)
        return changed
