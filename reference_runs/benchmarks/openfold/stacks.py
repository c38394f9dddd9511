"""The network's trunk: embedders, templates, the extra MSA, the Evoformer.

Source: as in `layers`. Dimensions: B chains, S rows, T templates, R residues, C channels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.openfold.data import ANGLE_FEATURES, PAIR_FEATURES
from podium.reference_runs.benchmarks.openfold.layers import (
    Attention,
    ColumnAttention,
    GlobalColumnAttention,
    OuterProductMean,
    PairUpdates,
    RowAttention,
    SharedDropout,
    Transition,
    linear,
)

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.openfold.config import OpenFold
    from podium.reference_runs.benchmarks.openfold.data import Batch

RECYCLED_BINS, RECYCLED_FIRST, RECYCLED_LAST = 15, 3.25, 20.75
"""Bins of the recycled distances between beta carbons, in Å."""


class Recycled(NamedTuple):
    """The recycled data: the first row, the pairs, the positions of the beta carbons."""

    row: Tensor
    """(B, R, C)."""
    pairs: Tensor
    """(B, R, R, C)."""
    beta: Tensor
    """In Å, (B, R, 3)."""


class InputEmbedder(nn.Module):
    """Rows and pairs from the sequence and its MSA (algorithms 3 and 4)."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        target, letters = config.kinds + 2, config.kinds + 3
        self.reach = config.relative_positions
        self.left, self.right = (linear(target, config.pair_width) for _ in range(2))
        self.target = linear(target, config.row_width)
        self.rows = linear(2 * letters + 3, config.row_width)
        self.relative = linear(2 * self.reach + 1, config.pair_width)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Rows, (B, S, R, C), and pairs, (B, R, R, C)."""
        target = batch.target
        pairs = self.left(target)[:, :, None] + self.right(target)[:, None]
        positions = torch.arange(target.shape[1], device=target.device)
        apart = (positions[:, None] - positions).clamp(-self.reach, self.reach) + self.reach
        pairs = pairs + self.relative(F.one_hot(apart, 2 * self.reach + 1).to(target.dtype))
        return self.rows(batch.rows) + self.target(target)[:, None], pairs


class RecyclingEmbedder(nn.Module):
    """Embedding of the previous pass (algorithm 32)."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        self.distance = linear(RECYCLED_BINS, config.pair_width)
        self.row_norm = nn.LayerNorm(config.row_width)
        self.pair_norm = nn.LayerNorm(config.pair_width)

    def forward(self, recycled: Recycled) -> tuple[Tensor, Tensor]:
        """The updates of the first row and of the pairs."""
        limits = torch.linspace(
            RECYCLED_FIRST, RECYCLED_LAST, RECYCLED_BINS, device=recycled.beta.device
        )
        distance = torch.cdist(recycled.beta, recycled.beta)[..., None]
        beyond = torch.cat([limits[1:], limits.new_tensor([torch.inf])])
        near = ((distance > limits) & (distance <= beyond)).to(recycled.pairs.dtype)
        pairs = self.distance(near) + self.pair_norm(recycled.pairs)
        return self.row_norm(recycled.row), pairs


class Templates(nn.Module):
    """Known structures of relatives, as rows and pairs (algorithms 2, 16 and 17)."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        letters, wide = config.kinds + 2, config.row_width
        self.angles = nn.Sequential(
            linear(letters + ANGLE_FEATURES, wide, "relu"), nn.ReLU(), linear(wide, wide, "relu")
        )
        self.pairs = linear(2 * letters + PAIR_FEATURES, config.template_width, "relu")
        self.blocks = nn.ModuleList(
            PairUpdates(
                config.template_width,
                config.template_product_hidden,
                config.template_hidden,
                config.pair_heads,
                2,
                config.pair_dropout,
            )
            for _ in range(config.template_blocks)
        )
        self.norm = nn.LayerNorm(config.template_width)
        self.attention = Attention(
            config.pair_width,
            config.template_width,
            config.template_hidden,
            config.pair_heads,
            gated=False,
        )

    def forward(self, batch: Batch, pairs_BRRC: Tensor) -> tuple[Tensor, Tensor]:
        """Rows of the templates' torsions, (B, T, R, C), and the update of the pairs."""
        features = self.pairs(batch.template_pairs)
        shape = features.shape
        features = features.flatten(0, 1)
        for block in self.blocks:
            features = block(features, attention_first=True)
        features = self.norm(features).view(shape).permute(0, 2, 3, 1, 4)
        added = self.attention(pairs_BRRC[..., None, :], features)[..., 0, :]
        return self.angles(batch.template_angles), added


class Block(nn.Module):
    """One block of the Evoformer, or of the extra MSA stack (algorithms 6 and 18)."""

    def __init__(self, config: OpenFold, *, extra: bool) -> None:
        super().__init__()
        width = config.extra_width if extra else config.row_width
        hidden = config.extra_hidden if extra else config.row_hidden
        pairs, heads = config.pair_width, config.row_heads
        self.row = RowAttention(width, pairs, hidden, heads)
        column = GlobalColumnAttention if extra else ColumnAttention
        self.column = column(width, hidden, heads)
        self.transition = Transition(width, 4)
        self.outer = OuterProductMean(width, pairs, config.outer_hidden)
        self.pairs = PairUpdates(
            pairs,
            config.product_hidden,
            config.pair_hidden,
            config.pair_heads,
            4,
            config.pair_dropout,
        )
        self.dropped = SharedDropout(config.row_dropout, 1)

    def forward(self, rows_BSRC: Tensor, pairs_BRRC: Tensor) -> tuple[Tensor, Tensor]:
        """The updated rows and pairs."""
        rows = rows_BSRC + self.dropped(self.row(rows_BSRC, pairs_BRRC))
        rows = rows + self.column(rows)
        rows = rows + self.transition(rows)
        return rows, self.pairs(pairs_BRRC + self.outer(rows))


class Trunk(nn.Module):
    """From features to the representations of the first row and the pairs (algorithm 2)."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        self.config = config
        self.input, self.recycled = InputEmbedder(config), RecyclingEmbedder(config)
        self.templates = Templates(config)
        self.beside = linear(config.kinds + 5, config.extra_width)
        self.extra_blocks = nn.ModuleList(
            Block(config, extra=True) for _ in range(config.extra_blocks)
        )
        self.blocks = nn.ModuleList(Block(config, extra=False) for _ in range(config.blocks))
        self.single = linear(config.row_width, config.single_width)

    def nothing(self, batch: Batch) -> Recycled:
        """The recycled data of the first pass, all zero."""
        count, residues = batch.target.shape[:2]
        made, config = batch.target.new_zeros, self.config
        return Recycled(
            made(count, residues, config.row_width),
            made(count, residues, residues, config.pair_width),
            made(count, residues, 3),
        )

    def forward(self, batch: Batch, before: Recycled) -> tuple[Tensor, Tensor, Tensor]:
        """MSA rows, (B, S, R, C), pairs, (B, R, R, C), and the single row, (B, R, C)."""
        rows, pairs = self.input(batch)
        first, again = self.recycled(before)
        rows = torch.cat([rows[:, :1] + first[:, None], rows[:, 1:]], dim=1)
        pairs = pairs + again
        count = rows.shape[1]
        if self.config.templates_enabled:
            angles, added = self.templates(batch, pairs)
            rows, pairs = torch.cat([rows, angles], dim=1), pairs + added
        extra = self.beside(batch.extra)
        for block in self.extra_blocks:
            extra, pairs = block(extra, pairs)
        for block in self.blocks:
            rows, pairs = block(rows, pairs)
        return rows[:, :count], pairs, self.single(rows[:, 0])
