"""Losses and detections, from the network's output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.retinanet.config import level_sides
from podium.reference_runs.benchmarks.retinanet.model import SHAPES
from podium.reference_runs.modeling.detection.boxes import decode, encode, overlaps, suppress

if TYPE_CHECKING:
    from torch import Tensor

    from podium.reference_runs.benchmarks.retinanet.config import RetinaNet
    from podium.reference_runs.modeling.detection.scenes import Batch

BACKGROUND, IGNORED = -1, -2
"""Special values in place of an object's index for anchors without one."""


def match(config: RetinaNet, anchors_A4: Tensor, batch: Batch) -> Tensor:
    """The object that each anchor is to detect, (B, A), or BACKGROUND or IGNORED.

    An object that no anchor overlaps enough gets the anchors that overlap it most.
    """
    overlap_BMA = overlaps(batch.boxes, anchors_A4) * (batch.classes >= 0)[..., None]
    best_BA, object_BA = overlap_BMA.max(1)
    targets = torch.where(best_BA < config.foreground_overlap, IGNORED, object_BA)
    targets = torch.where(best_BA < config.background_overlap, BACKGROUND, targets)
    most_BM = overlap_BMA.amax(2, keepdim=True)
    nearest = ((overlap_BMA == most_BM) & (most_BM > 0)).any(1)
    return torch.where(nearest, object_BA, targets)


def losses(
    config: RetinaNet,
    anchors_A4: Tensor,
    output: tuple[Tensor, Tensor],
    batch: Batch,
    mine: Tensor | slice = slice(None),
) -> Tensor:
    """Focal loss of scores and absolute error of boxes, by image, (B,).

    The losses of each image are divided by its number of anchors with an object. `output` and the
    loss cover the anchors `mine`, by default all of them.
    """
    scores_BAK, offsets_BA4 = (tensor.float() for tensor in output)
    targets = match(config, anchors_A4, batch)
    objects_B = (targets >= 0).sum(1).clamp(min=1)
    targets, anchors_A4 = targets[:, mine], anchors_A4[mine]
    positive = targets >= 0
    which = targets.clamp(min=0)
    classes = batch.classes.gather(1, which)
    wanted = F.one_hot(classes.clamp(min=0), config.classes) * positive[..., None]
    focal = focal_loss(config, scores_BAK, wanted.float()).sum(-1) * (targets != IGNORED)
    boxes = batch.boxes.gather(1, which[..., None].expand(-1, -1, 4))
    # Without an object the target is the anchor itself, whose logarithm is finite.
    boxes = torch.where(positive[..., None], boxes, anchors_A4)
    distance = (offsets_BA4 - encode(boxes, anchors_A4)).abs().sum(-1) * positive
    return (focal + distance).sum(1) / objects_B


def focal_loss(config: RetinaNet, scores: Tensor, wanted: Tensor) -> Tensor:
    """Cross-entropy with less weight on correct predictions (Lin et al., 2017, equation 5)."""
    entropy = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none")
    probability = scores.sigmoid()
    miss = torch.where(wanted > 0, 1 - probability, probability)
    weight = torch.where(wanted > 0, config.focal_alpha, 1 - config.focal_alpha)
    return weight * miss**config.focal_gamma * entropy


def detect(
    config: RetinaNet, anchors_A4: Tensor, scores_AK: Tensor, offsets_A4: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """One image's boxes (N, 4), scores and classes (N,), best first."""
    sides = level_sides(config.image_size, len(config.anchor_sizes))
    counts = [SHAPES * side * side for side in sides]
    parts = []
    begin = 0
    for scores in torch.split(scores_AK.float().sigmoid(), counts):
        best, indices = scores.flatten().topk(min(config.candidates, scores.numel()))
        indices = indices[best > config.least_score]
        parts.append(
            (
                best[best > config.least_score],
                indices % config.classes,
                begin + indices // config.classes,
            )
        )
        begin += len(scores)
    values, classes, where = (torch.cat(columns) for columns in zip(*parts, strict=True))
    boxes = decode(offsets_A4.float()[where], anchors_A4[where]).clamp(0, config.image_size)
    keep = suppress(boxes, values, classes, config.most_overlap)[: config.detections]
    return boxes[keep], values[keep], classes[keep]
