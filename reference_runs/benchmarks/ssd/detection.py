"""Losses and detections, from the network's output.

Dimensions: B images, A default boxes, M objects, K classes and the background, N candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.modeling.detection.boxes import decode, encode, overlaps, remaining

if TYPE_CHECKING:
    from torch import Tensor

    from podium.reference_runs.benchmarks.ssd.config import Ssd
    from podium.reference_runs.modeling.detection.precision import Detections
    from podium.reference_runs.modeling.detection.scenes import Batch
    from podium.reference_runs.modeling.detection.share import Share

NONE = -1
"""Special value in place of an object's index for default boxes without one."""

VARIANCES = (0.1, 0.1, 0.2, 0.2)
"""Scale of the network's offsets: of centers, and of log sizes."""


def match(config: Ssd, boxes_A4: Tensor, batch: Batch) -> Tensor:
    """The object that each default box is to detect, (B, A), or NONE.

    A box gets the object that overlaps it most, if by enough. Each object also gets the box that it
    overlaps most; if several objects have the same, the last of them.
    """
    real_BM = batch.classes >= 0
    overlap_BMA = overlaps(batch.boxes, boxes_A4).masked_fill(~real_BM[..., None], -1.0)
    best_BA, object_BA = overlap_BMA.max(1)
    found_BA = torch.where(best_BA > config.foreground_overlap, object_BA, NONE)
    numbers_BM = torch.arange(real_BM.shape[1], device=real_BM.device).where(real_BM, NONE)
    own_BA = torch.full_like(object_BA, NONE)
    own_BA = own_BA.scatter_reduce(1, overlap_BMA.argmax(2), numbers_BM, "amax")
    return torch.where(own_BA >= 0, own_BA, found_BA)


def losses(
    config: Ssd, boxes_A4: Tensor, output: tuple[Tensor, Tensor], batch: Batch, share: Share
) -> Tensor:
    """Cross-entropy of scores and smooth error of offsets, by image, (B,).

    The losses of each image are divided by its number of boxes with an object. `output` and the
    loss cover the rank's share of the boxes.
    """
    scores_BAK, offsets_BA4 = (tensor.float() for tensor in output)
    found_BA = match(config, boxes_A4, batch)
    counts_B = (found_BA >= 0).sum(1)
    found_BA, boxes_A4 = found_BA[:, share.mine], boxes_A4[share.mine]
    positive_BA, which_BA = found_BA >= 0, found_BA.clamp(min=0)
    classes_BA = torch.where(positive_BA, 1 + batch.classes.gather(1, which_BA), 0)
    entropy_BA = F.cross_entropy(scores_BAK.transpose(1, 2), classes_BA, reduction="none")
    chosen_BA = positive_BA | _hardest(entropy_BA, positive_BA, config.negatives * counts_B, share)
    wanted_BA4 = batch.boxes.gather(1, which_BA[..., None].expand(-1, -1, 4))
    # Without an object the target is the box itself, whose logarithm is finite
    wanted_BA4 = torch.where(positive_BA[..., None], wanted_BA4, boxes_A4)
    target_BA4 = encode(wanted_BA4, boxes_A4) / _variances(boxes_A4)
    distance_BA = F.smooth_l1_loss(offsets_BA4, target_BA4, reduction="none").sum(-1)
    total_B = (entropy_BA * chosen_BA + distance_BA * positive_BA).sum(1)
    return torch.where(counts_B > 0, total_B / counts_B.clamp(min=1), 0.0)


@torch.no_grad()
def _hardest(entropy_BA: Tensor, positive_BA: Tensor, most_B: Tensor, share: Share) -> Tensor:
    """Which boxes without an object have the largest losses in their images, (B, A)."""
    negative_BA = entropy_BA.masked_fill(positive_BA, 0.0)
    everyone_BA = share.whole(negative_BA[..., None])[..., 0]
    order_BA = everyone_BA.argsort(dim=1, descending=True, stable=True)
    ranks_BA = order_BA.argsort(1)[:, share.mine]
    return (ranks_BA < most_B[:, None]) & ~positive_BA


def detect(config: Ssd, boxes_A4: Tensor, scores_AK: Tensor, offsets_A4: Tensor) -> Detections:
    """One image's boxes (N, 4), scores and classes (N,), best first."""
    offsets_A4 = offsets_A4.float() * _variances(offsets_A4)
    place_A4 = decode(offsets_A4, boxes_A4).clamp(0, config.image_size)
    # Without the background, by class
    shares_KA = scores_AK.float().softmax(-1)[:, 1:].T
    values_KN, at_KN = shares_KA.topk(min(config.detections, len(boxes_A4)))
    place_KN4 = place_A4[at_KN]
    rivals_KNN = overlaps(place_KN4, place_KN4) > config.most_overlap
    good_KN = remaining(rivals_KNN) & (values_KN > config.least_score)
    classes, which = good_KN.nonzero(as_tuple=True)
    values = values_KN[good_KN]
    best = values.argsort(descending=True, stable=True)[: config.detections]
    return place_KN4[classes, which][best], values[best], classes[best]


def _variances(like: Tensor) -> Tensor:
    return torch.tensor(VARIANCES, device=like.device)
