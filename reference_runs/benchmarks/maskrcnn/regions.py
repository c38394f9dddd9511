"""Anchors, proposals, and the choice of those that are trained, with shapes that are fixed.

Plans and compilers need shapes that do not depend on values, so all images have the same number of
proposals and of chosen regions; a mask tells which of them count. Dimensions: B images, M objects,
A anchors of an image, N boxes of an image.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import torch

from podium.reference_runs.modeling.detection.boxes import overlaps, remaining

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

ASPECTS = (0.5, 1.0, 2.0)
"""Height by width of the anchors of a position."""

BACKGROUND, IGNORED = -1, -2
"""Special values in place of an object's index for boxes without one."""

MOST_OVERLAP = 0.7
"""Overlap above which the worse of two proposals of a level is removed."""

FACTORS = (-0x61C8864680B583EB, -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15)
"""Odd 64-bit constants, two's complement, of a mixing function (Steele et al., 2014, SplitMix)."""


class Proposals(NamedTuple):
    """Boxes (B, N, 4), and whether each of them is a proposal, (B, N)."""

    boxes: Tensor
    there: Tensor


class Chosen(NamedTuple):
    """Indices (B, N) of chosen boxes, positive ones first, and whether each was chosen."""

    indices: Tensor
    there: Tensor


def anchors(sides: Sequence[Sequence[int]], strides: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """All anchors of an image, (A, 4): level by level, row by row, by aspect."""
    boxes = []
    for (height, width), stride, size in zip(sides, strides, sizes, strict=True):
        halves = torch.tensor([(size / math.sqrt(a) / 2, size * math.sqrt(a) / 2) for a in ASPECTS])
        # The center of the pixels that a position of the level stands for
        y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        center = (torch.stack((x, y), -1).reshape(-1, 1, 2) + 0.5) * stride
        boxes.append(torch.cat((center - halves, center + halves), -1).reshape(-1, 4))
    return torch.cat(boxes)


def clipped(boxes_BN4: Tensor, sizes_B2: Tensor) -> Tensor:
    """Boxes without the parts outside of their image, whose height and width are `sizes_B2`."""
    limits_B14 = sizes_B2.flip(-1).repeat(1, 2)[:, None]
    return torch.minimum(boxes_BN4.clamp(min=0), limits_B14)


def matched(overlap_BMN: Tensor, foreground: float, background: float) -> Tensor:
    """The object of each box, (B, N), or BACKGROUND or IGNORED, by their overlaps."""
    best_BN, object_BN = overlap_BMN.max(1)
    targets = torch.where(best_BN < foreground, IGNORED, object_BN)
    return torch.where(best_BN < background, BACKGROUND, targets)


def matched_anchors(overlap_BMA: Tensor) -> Tensor:
    """As `matched`; objects without an anchor get those that overlap them most."""
    found_BA = matched(overlap_BMA, 0.7, 0.3)
    most_BM1 = overlap_BMA.amax(2, keepdim=True)
    nearest_BA = ((overlap_BMA == most_BM1) & (most_BM1 > 0)).any(1)
    return torch.where(nearest_BA, overlap_BMA.argmax(1), found_BA)


def best(boxes_BN4: Tensor, scores_BN: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` best boxes of a level and their scores; -inf for those that better ones replace.

    Boxes without an area are dropped as well.
    """
    scores, indices = scores_BN.topk(min(count, scores_BN.shape[1]))
    boxes = boxes_BN4.gather(1, indices[..., None].expand(-1, -1, 4))
    wide = (boxes[..., 2:] > boxes[..., :2]).all(-1)
    rivals = (overlaps(boxes, boxes) > MOST_OVERLAP) & wide[:, :, None]
    keep = remaining(rivals) & wide
    return boxes, scores.masked_fill(~keep, -math.inf)


def proposals(levels: Sequence[tuple[Tensor, Tensor]], count: int) -> Proposals:
    """The best boxes of all levels, from those of each level and their scores."""
    boxes, scores = (torch.cat(tensors, 1) for tensors in zip(*levels, strict=True))
    scores, indices = scores.topk(min(count, scores.shape[1]))
    return Proposals(boxes.gather(1, indices[..., None].expand(-1, -1, 4)), scores > -math.inf)


def keys(draws_B: Tensor, count: int) -> Tensor:
    """Pseudorandom numbers from 0 to 1, (B, count), from a number of each image.

    They depend neither on the device nor on the other images of a batch.
    """
    x = draws_B[:, None] + torch.arange(1, count + 1, device=draws_B.device) * FACTORS[0]
    # The sign does not fill the shifted bits
    x = (x ^ ((x >> 30) & (2**34 - 1))) * FACTORS[1]
    x = (x ^ ((x >> 27) & (2**37 - 1))) * FACTORS[2]
    return ((x >> 40) & (2**24 - 1)) / 2**24


def chosen(
    positive_BN: Tensor, negative_BN: Tensor, draws_B: Tensor, count: int, share: float
) -> Chosen:
    """Random boxes of each image: at most a share of positive ones, and negative ones."""
    count = min(count, positive_BN.shape[1])
    order_BN = keys(draws_B, positive_BN.shape[1])
    values, indices = ((order_BN + 1) * positive_BN).topk(int(count * share))
    picked_BN = torch.zeros_like(order_BN).scatter(1, indices, (values > 0).to(order_BN.dtype))
    # Positive ones have values from 2 on, negative ones from 1 on
    values, indices = (picked_BN * (order_BN + 2) + negative_BN * (order_BN + 1)).topk(count)
    return Chosen(indices, values > 0)
