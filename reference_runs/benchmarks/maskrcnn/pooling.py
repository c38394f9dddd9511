"""Features of regions by bilinear interpolation, from the level of a pyramid that fits their size.

RoIAlign of He et al., "Mask R-CNN", 2017, section 3, and the choice of levels of Lin et al.,
"Feature Pyramid Networks for Object Detection", 2017, equation 1. Dimensions: B images, R regions
of an image, N = B·R, C channels, S cells along a side, P points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

SAMPLES = 2
"""Points in a cell along each axis."""

CANONICAL_LEVEL = 2
"""Index of the level for regions of the canonical size."""


class Neighbours(NamedTuple):
    """The two rows or columns around each point, and their weights, (N, S, 2·SAMPLES)."""

    places: Tensor
    weights: Tensor


def pooled(
    levels: Sequence[Tensor], boxes_BR4: Tensor, strides: Sequence[int], cells: int, canonical: int
) -> Tensor:
    """Features of regions, (N, C, S, S); every cell is the mean of its points.

    A bag of an embedding table computes a cell: the rows of the table are all positions of all
    levels, and the weights are those of the interpolation. No intermediate tensor has the points.
    """
    boxes_N4 = boxes_BR4.flatten(0, 1)
    which_N = _levels_of(boxes_N4, len(levels), canonical)
    sides = torch.tensor([level.shape[2:] for level in levels], device=boxes_N4.device)[which_N]
    counts = [level.shape[0] * level.shape[2] * level.shape[3] for level in levels]
    begins = torch.tensor(
        [sum(counts[:index]) for index in range(len(counts))], device=boxes_N4.device
    )
    image_N = torch.arange(len(boxes_BR4), device=boxes_N4.device).repeat_interleave(
        boxes_BR4.shape[1]
    )
    first_N = begins[which_N] + image_N * sides[:, 0] * sides[:, 1]
    scale_N1 = 1 / boxes_N4.new_tensor(list(strides))[which_N][:, None]
    scaled_N4 = boxes_N4 * scale_N1
    x = _neighbours(scaled_N4[:, 0], scaled_N4[:, 2], cells, sides[:, 1])
    y = _neighbours(scaled_N4[:, 1], scaled_N4[:, 3], cells, sides[:, 0])
    rows = y.places[:, :, None, :, None] * sides[:, 1].view(-1, 1, 1, 1, 1)
    places = first_N.view(-1, 1, 1, 1, 1) + rows + x.places[:, None, :, None, :]
    weights = y.weights[:, :, None, :, None] * x.weights[:, None, :, None, :] / SAMPLES**2
    table = torch.cat([level.permute(0, 2, 3, 1).flatten(0, 2) for level in levels])
    features = F.embedding_bag(
        places.flatten(3).flatten(0, 2),
        table.to(weights.dtype),
        mode="sum",
        per_sample_weights=weights.flatten(3).flatten(0, 2),
    )
    return features.view(len(boxes_N4), cells, cells, table.shape[1]).permute(0, 3, 1, 2)


def _levels_of(boxes_N4: Tensor, levels: int, canonical: int) -> Tensor:
    """The index of the level of each region, (N,): one coarser each time its side doubles."""
    area_N = (boxes_N4[:, 2:] - boxes_N4[:, :2]).clamp(min=0).prod(-1)
    level_N = (torch.log2(area_N.sqrt() / canonical + 1e-6) + CANONICAL_LEVEL).floor()
    # Limited as whole numbers, which a diverged run has, too
    return level_N.long().clamp(0, levels - 1)


def _neighbours(begin_N: Tensor, end_N: Tensor, cells: int, count_N: Tensor) -> Neighbours:
    """The neighbours along one axis of `count_N` positions; points far outside have weight 0."""
    points = (torch.arange(cells * SAMPLES, device=begin_N.device) + 0.5) / SAMPLES
    # A region has at least the size of one position, as in the reference
    size_N = (end_N - begin_N).clamp(min=1)
    at_NP = begin_N[:, None] + points.to(begin_N.dtype) * size_N[:, None] / cells
    last_N1 = (count_N - 1).to(at_NP.dtype)[:, None]
    inside_NP = (at_NP >= -1) & (at_NP <= last_N1 + 1)
    at_NP = torch.minimum(at_NP.clamp(min=0), last_N1)
    low_NP = at_NP.floor()
    share_NP = at_NP - low_NP
    high_NP = torch.minimum(low_NP + 1, last_N1)
    places = torch.stack((low_NP, high_NP), -1).long().clamp(min=0)
    weights = torch.stack((1 - share_NP, share_NP), -1) * inside_NP[..., None]
    shape = (len(begin_N), cells, SAMPLES * 2)
    return Neighbours(places.view(shape), weights.view(shape))
