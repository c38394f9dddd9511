"""The structure module: frames of residues, moved by invariant point attention.

Source: as in `layers`, algorithms 20 to 24. Dimensions: B chains, R residues, H heads, C channels,
P points.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.openfold.geometry import (
    TORSIONS,
    Frames,
    from_quaternion,
    identity,
)
from podium.reference_runs.benchmarks.openfold.layers import linear

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.openfold.config import OpenFold

UNIT = 10.0
"""Å: the module's internal unit of length is a nanometer."""


class Moved(NamedTuple):
    """The output of one layer: backbone frames in Å, and torsions."""

    frames: Frames
    torsions: Tensor
    """Sines and cosines, (B, R, 7, 2)."""
    unscaled: Tensor
    """The same before normalization to the unit circle."""


class PointAttention(nn.Module):
    """Attention by features, by pairs and by distances of points that move with the frames."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        self.heads, self.hidden = config.point_heads, config.point_hidden
        self.queries, self.values = config.query_points, config.value_points
        wide, width = config.single_width, self.heads * self.hidden
        self.query, self.key_value = linear(wide, width), linear(wide, 2 * width)
        self.query_points = linear(wide, self.heads * self.queries * 3)
        self.key_value_points = linear(wide, self.heads * (self.queries + self.values) * 3)
        self.bias = linear(config.pair_width, self.heads)
        # softplus of it is 1
        self.point_weights = nn.Parameter(torch.full((self.heads,), math.log(math.e - 1)))
        made = self.heads * (self.hidden + config.pair_width + 4 * self.values)
        self.output = linear(made, wide, "final")

    def forward(self, single_BRC: Tensor, pairs_BRRC: Tensor, frames: Frames) -> Tensor:
        """The update of the single row."""
        query = self.query(single_BRC).unflatten(-1, (self.heads, -1))
        key, value = self.key_value(single_BRC).unflatten(-1, (self.heads, -1)).chunk(2, -1)
        asked = self._points(self.query_points, single_BRC, frames)
        points = self._points(self.key_value_points, single_BRC, frames)
        key_points, value_points = points[..., : self.queries, :], points[..., self.queries :, :]
        scores = torch.einsum("bihc,bjhc->bhij", query, key) / math.sqrt(3 * self.hidden)
        scores = scores + self.bias(pairs_BRRC).permute(0, 3, 1, 2) / math.sqrt(3)
        squared = (asked[:, :, None] - key_points[:, None]).square().sum((-1, -2))  # (B, R, R, H)
        weight = F.softplus(self.point_weights) * math.sqrt(1 / (3 * self.queries * 9 / 2))
        scores = scores - 0.5 * (squared * weight).permute(0, 3, 1, 2)
        share = scores.softmax(-1)
        features = torch.einsum("bhij,bjhc->bihc", share, value).flatten(-2)
        pairs = torch.einsum("bhij,bijc->bihc", share, pairs_BRRC).flatten(-2)
        points = torch.einsum("bhij,bjhpx->bihpx", share, value_points)
        local = frames.expanded().expanded().invert_apply(points)
        lengths = (local.square().sum(-1) + 1e-8).sqrt()
        parts = [features, *(local[..., axis].flatten(-2) for axis in range(3))]
        update: Tensor = self.output(torch.cat([*parts, lengths.flatten(-2), pairs], dim=-1))
        return update

    def _points(self, layer: nn.Module, single_BRC: Tensor, frames: Frames) -> Tensor:
        """Points that move with the residues, (B, R, H, P, 3)."""
        local = layer(single_BRC).unflatten(-1, (self.heads, -1, 3))
        return frames.expanded().expanded().apply(local)


class Torsions(nn.Module):
    """Seven torsions of a residue (algorithm 20, lines 11 to 14)."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        wide, width = config.single_width, config.angle_width
        self.single, self.first = linear(wide, width), linear(wide, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.ReLU(), linear(width, width, "relu"), nn.ReLU(), linear(width, width, "final")
            )
            for _ in range(2)
        )
        self.output = linear(width, 2 * TORSIONS)

    def forward(self, single_BRC: Tensor, first_BRC: Tensor) -> tuple[Tensor, Tensor]:
        """Sines and cosines, (B, R, 7, 2), and the same before normalization to the unit circle."""
        x = self.single(single_BRC.relu()) + self.first(first_BRC.relu())
        for block in self.blocks:
            x = x + block(x)
        unscaled = self.output(x.relu()).unflatten(-1, (TORSIONS, 2))
        length = (unscaled.square().sum(-1, keepdim=True)).clamp(min=1e-8).sqrt()
        return unscaled / length, unscaled


class StructureModule(nn.Module):
    """Layers with shared weights that move every residue's frame."""

    def __init__(self, config: OpenFold) -> None:
        super().__init__()
        wide = config.single_width
        self.layers = config.structure_layers
        self.single_norm, self.pair_norm = nn.LayerNorm(wide), nn.LayerNorm(config.pair_width)
        self.input = linear(wide, wide)
        self.attention = PointAttention(config)
        self.attention_norm, self.transition_norm = nn.LayerNorm(wide), nn.LayerNorm(wide)
        self.transition = nn.Sequential(
            linear(wide, wide, "relu"),
            nn.ReLU(),
            linear(wide, wide, "relu"),
            nn.ReLU(),
            linear(wide, wide, "final"),
        )
        self.update = linear(wide, 6, "final")
        self.torsions = Torsions(config)
        self.dropout = nn.Dropout(config.structure_dropout)

    def forward(self, single_BRC: Tensor, pairs_BRRC: Tensor) -> tuple[Tensor, list[Moved]]:
        """The last single row, and the output of each layer."""
        first, pairs = self.single_norm(single_BRC), self.pair_norm(pairs_BRRC)
        single = self.input(first)
        frames = identity(*single.shape[:2], like=single.float())
        moved = []
        for layer in range(self.layers):
            single = single + self.attention(single, pairs, frames)
            single = self.attention_norm(self.dropout(single))
            single = self.transition_norm(self.dropout(single + self.transition(single)))
            frames = frames.compose(from_quaternion(self.update(single).float()))
            torsions, unscaled = self.torsions(single, first)
            moved.append(Moved(frames.scaled(UNIT), torsions.float(), unscaled.float()))
            if layer < self.layers - 1:
                # Gradients of rotations over many layers make training unstable
                frames = frames.detached_rotation()
        return single, moved
