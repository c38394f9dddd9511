"""RetinaNet's anchors, as boxes of left, top, right, bottom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from podium.reference_runs.benchmarks.retinanet.config import level_sides

if TYPE_CHECKING:
    from torch import Tensor

    from podium.reference_runs.benchmarks.retinanet.config import RetinaNet

ASPECTS = (0.5, 1.0, 2.0)
OCTAVES = (1.0, 2 ** (1 / 3), 2 ** (2 / 3))


def anchors(config: RetinaNet) -> Tensor:
    """All anchors of an image, (A, 4), in the order of the heads' output.

    As in the benchmark's reference, the anchors of a cell are centered at its upper left corner.
    """
    levels = []
    sides = level_sides(config.image_size, len(config.anchor_sizes))
    for size, side in zip(config.anchor_sizes, sides, strict=True):
        shapes = _shapes(size)
        positions = torch.arange(side) * float(config.image_size // side)
        y, x = torch.meshgrid(positions, positions, indexing="ij")
        corners = torch.stack((x, y, x, y), -1).reshape(-1, 1, 4)
        levels.append((corners + shapes).reshape(-1, 4))
    return torch.cat(levels)


def _shapes(size: int) -> Tensor:
    """The nine anchors around the origin, (9, 4)."""
    halves = [
        (size * octave / math.sqrt(aspect) / 2, size * octave * math.sqrt(aspect) / 2)
        for aspect in ASPECTS
        for octave in OCTAVES
    ]
    return torch.tensor([(-w, -h, w, h) for w, h in halves]).round()
