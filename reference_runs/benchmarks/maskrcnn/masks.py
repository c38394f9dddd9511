"""Masks of objects: on the grid of a region to learn them, and in whole images to judge them.

Dimensions: B images, M objects, R regions of an image, N objects or regions, P points of a grid
along a side, H and W height and width of an image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from torch import Tensor

LEAST = 0.5
"""Probability from which a point is in an object."""


def masks_of_regions(
    masks_NPP: Tensor, boxes_N4: Tensor, regions_N4: Tensor, points: int
) -> Tensor:
    """Whether each point of a grid in a region is in an object, (N, points, points).

    `masks_NPP` has the objects on grids that fill their boxes.
    """
    at_P = (torch.arange(points, device=boxes_N4.device).to(boxes_N4.dtype) + 0.5) / points
    grid = _grid(at_P, at_P, boxes_N4, regions_N4)
    samples = F.grid_sample(masks_NPP[:, None].to(boxes_N4.dtype), grid, align_corners=False)
    return samples[:, 0] >= LEAST


def _grid(x_P: Tensor, y_Q: Tensor, boxes_N4: Tensor, regions_N4: Tensor) -> Tensor:
    """Points of regions as positions in boxes from -1 to 1, (N, Q, P, 2)."""
    begin, size = regions_N4[:, :2], regions_N4[:, 2:] - regions_N4[:, :2]
    wide = (boxes_N4[:, 2:] - boxes_N4[:, :2]).clamp(min=1e-3)
    axes = [
        2
        * (begin[:, axis, None] + points * size[:, axis, None] - boxes_N4[:, axis, None])
        / wide[:, axis, None]
        - 1
        for axis, points in enumerate((x_P, y_Q))
    ]
    shape = (len(boxes_N4), len(y_Q), len(x_P))
    return torch.stack((axes[0][:, None].expand(shape), axes[1][:, :, None].expand(shape)), -1)


def pasted(masks_NPP: Tensor, boxes_N4: Tensor, height: int, width: int) -> Tensor:
    """Masks in a whole image, (N, H, W), from probabilities on grids that fill boxes."""
    whole_4 = boxes_N4.new_tensor([0, 0, width, height])
    at_W, at_H = (
        (torch.arange(count, device=boxes_N4.device).to(boxes_N4.dtype) + 0.5) / count
        for count in (width, height)
    )
    grid = _grid(at_W, at_H, boxes_N4, whole_4.expand(len(boxes_N4), 4))
    samples = F.grid_sample(masks_NPP[:, None].to(boxes_N4.dtype), grid, align_corners=False)
    return samples[:, 0] >= LEAST
