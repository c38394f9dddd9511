"""Boxes as tensors of left, top, right, bottom: anchors, overlaps, offsets, suppression.

Dimensions: A anchors, M objects, N boxes.
"""

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

LARGEST = math.log(1000 / 16)
"""Limit of a predicted log size, so that its exponential is finite."""


def anchors(config: RetinaNet) -> Tensor:
    """All anchors of an image, (A, 4), in the order of the heads' output.

    As in the benchmark's reference, the anchors of a cell are centered at its upper left corner.
    """
    found = []
    sides = level_sides(config.image_size, len(config.anchor_sizes))
    for size, side in zip(config.anchor_sizes, sides, strict=True):
        shapes = _shapes(size)
        at = torch.arange(side) * float(config.image_size // side)
        y, x = torch.meshgrid(at, at, indexing="ij")
        corners = torch.stack((x, y, x, y), -1).reshape(-1, 1, 4)
        found.append((corners + shapes).reshape(-1, 4))
    return torch.cat(found)


def _shapes(size: int) -> Tensor:
    """The nine anchors around the origin, (9, 4)."""
    halves = [
        (size * octave / math.sqrt(aspect) / 2, size * octave * math.sqrt(aspect) / 2)
        for aspect in ASPECTS
        for octave in OCTAVES
    ]
    return torch.tensor([(-w, -h, w, h) for w, h in halves]).round()


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
    The usual loop tests one box after another, best first. Here each iteration tests all boxes at
    once against those that remain so far. A box depends on better ones only, so iteration n and all
    later ones are correct for the n best boxes, and a fixed point is the loop's result, usually
    after few iterations.
    """
    order_N = scores_N.argsort(descending=True, stable=True)
    boxes_N4, classes_N = boxes_N4[order_N], classes_N[order_N]
    rivals_NN = (overlaps(boxes_N4, boxes_N4) > most_overlap) & (classes_N[:, None] == classes_N)
    # Above the diagonal the row's box is better than the column's; floats for the product below
    beats_NN = rivals_NN.triu(diagonal=1).float()
    stays_N = torch.ones_like(scores_N, dtype=beats_NN.dtype)
    while True:
        beaten_by_N = stays_N @ beats_NN  # number of better remaining boxes
        judged_N = (beaten_by_N == 0).float()
        if torch.equal(judged_N, stays_N):
            return order_N[stays_N > 0]
        stays_N = judged_N
