"""Boxes as tensors of left, top, right, bottom: overlaps, offsets, suppression.

Dimensions: A anchors, M objects, N boxes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor

LARGEST = math.log(1000 / 16)
"""Limit of a predicted log size, so that its exponential is finite."""


def overlaps(first: Tensor, second: Tensor) -> Tensor:
    """Intersection over union of every pair, (…, M, 4) and (A, 4) to (…, M, A)."""
    begin = torch.maximum(first[..., :, None, :2], second[..., None, :, :2])
    end = torch.minimum(first[..., :, None, 2:], second[..., None, :, 2:])
    common = (end - begin).clamp(min=0).prod(-1)
    union = _area(first)[..., :, None] + _area(second)[..., None, :] - common
    # Two boxes without an area would divide 0 by 0
    return common / union.clamp(min=1e-6)


def _area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2]).prod(-1)


def encode(boxes: Tensor, anchors: Tensor) -> Tensor:
    """Offsets from anchors to boxes: centers relative to size, log size ratios."""
    (where, size), (place, scale) = _centre(boxes), _centre(anchors)
    return torch.cat(((where - place) / scale, torch.log(size / scale)), -1)


def decode(offsets: Tensor, anchors: Tensor) -> Tensor:
    """Boxes from offsets, the inverse of `encode`."""
    place, scale = _centre(anchors)
    where = place + offsets[..., :2] * scale
    half = offsets[..., 2:].clamp(max=LARGEST).exp() * scale / 2
    return torch.cat((where - half, where + half), -1)


def _centre(boxes: Tensor) -> tuple[Tensor, Tensor]:
    return (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]


def suppress(boxes_N4: Tensor, scores_N: Tensor, classes_N: Tensor, most_overlap: float) -> Tensor:
    """Indices of the remaining boxes, best first, after non-maximum suppression by class.

    A box is removed if a better remaining one of its class overlaps it by more than `most_overlap`.
    """
    order_N = scores_N.argsort(descending=True, stable=True)
    boxes_N4, classes_N = boxes_N4[order_N], classes_N[order_N]
    rivals_NN = (overlaps(boxes_N4, boxes_N4) > most_overlap) & (classes_N[:, None] == classes_N)
    return order_N[remaining(rivals_NN)]


def remaining(rivals_NN: Tensor) -> Tensor:
    """The remaining boxes of some that are sorted, best first, (…, N), from pairs of rivals.

    The usual loop tests one box after another, best first. Here each iteration tests all boxes at
    once against those that remain so far. A box depends on better ones only, so iteration n and all
    later ones are correct for the n best boxes, and a fixed point is the loop's result, usually
    after few iterations.
    """
    # Above the diagonal the row's box is better than the column's; floats for the product below
    beats_NN = rivals_NN.triu(diagonal=1).float()
    stays_1N = beats_NN.new_ones(*beats_NN.shape[:-2], 1, beats_NN.shape[-1])
    while True:
        beaten_by_1N = stays_1N @ beats_NN  # number of better remaining boxes
        judged_1N = (beaten_by_1N == 0).float()
        if bool((judged_1N == stays_1N).all()):
            return stays_1N[..., 0, :] > 0
        stays_1N = judged_1N
