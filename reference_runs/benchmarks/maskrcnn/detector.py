"""The detector: from images and their objects to losses, or from images to detections.

Dimensions: B images, M objects of an image, A anchors, R regions of an image, N detections, K
classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.benchmarks.maskrcnn.masks import masks_of_regions
from podium.reference_runs.benchmarks.maskrcnn.model import BOX_CELLS, MASK_CELLS, Network
from podium.reference_runs.benchmarks.maskrcnn.pooling import pooled
from podium.reference_runs.benchmarks.maskrcnn.regions import (
    BACKGROUND,
    Proposals,
    anchors,
    best,
    chosen,
    clipped,
    matched,
    matched_anchors,
    proposals,
)
from podium.reference_runs.modeling.detection.boxes import decode, encode, overlaps, suppress

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.maskrcnn.config import MaskRCNN

STRIDES = (4, 8, 16, 32, 64)
"""Pixels between the positions of each level."""

WEIGHTS = (10.0, 10.0, 5.0, 5.0)
"""Scale of the offsets that the box head learns."""

POSITIVE_ANCHORS, POSITIVE_REGIONS = 0.5, 0.25
"""Maximum share of positive anchors and of positive regions among the chosen ones."""


class Objects(NamedTuple):
    """Boxes (B, M, 4), classes (B, M) or -1, masks (B, M, P, P) and a random number (B,)."""

    boxes: Tensor
    classes: Tensor
    masks: Tensor
    draws: Tensor

    def of(self, which_BR: Tensor) -> tuple[Tensor, Tensor]:
        """Boxes (B, R, 4) and classes (B, R) of objects by index."""
        boxes = self.boxes.gather(1, which_BR[..., None].expand(-1, -1, 4))
        return boxes, self.classes.gather(1, which_BR)


class Detected(NamedTuple):
    """Boxes (N, 4), scores (N,), classes (N,) and masks (N, 28, 28) of an image."""

    boxes: Tensor
    scores: Tensor
    classes: Tensor
    masks: Tensor


class Picked(NamedTuple):
    """Regions (B, R, 4), their objects and classes from 1 on, 0 without, and which count."""

    boxes: Tensor
    objects: Tensor
    kinds: Tensor
    there: Tensor


class Searched(NamedTuple):
    """Levels of the pyramid; scores and offsets of all anchors; the proposals."""

    levels: list[Tensor]
    anchors: Tensor
    scores: Tensor
    offsets: Tensor
    proposals: Proposals


class Detector(Network):
    """The whole model."""

    def __init__(self, config: MaskRCNN) -> None:
        super().__init__(config)
        self.config = config

    def forward(
        self, images_BCHW: Tensor, sizes_B2: Tensor, objects: Objects | None = None
    ) -> Tensor | list[Detected]:
        """The loss of each image, (B,), or without objects the detections in each image."""
        limits = self.config.evaluation_candidates, self.config.training_candidates
        search = self._search(images_BCHW, sizes_B2, limits[objects is not None])
        if objects is None:
            return self._detect(search, sizes_B2)
        return self._proposal_loss(search, sizes_B2, objects) + self._region_loss(search, objects)

    def _search(self, images_BCHW: Tensor, sizes_B2: Tensor, candidates: int) -> Searched:
        levels = self.fpn(self.body(images_BCHW))
        sides = [level.shape[2:] for level in levels]
        places_A4 = anchors(sides, STRIDES, self.config.anchor_sizes).to(sizes_B2)
        parts, ranked, begin = [], [], 0
        for scores, offsets in self.rpn(levels):
            parts.append((scores, offsets))
            here = places_A4[begin : begin + scores.shape[1]]
            begin += scores.shape[1]
            boxes = clipped(decode(offsets.detach(), here), sizes_B2)
            ranked.append(best(boxes, scores.detach(), candidates))
        scores_BA, offsets_BA4 = (torch.cat(tensors, 1) for tensors in zip(*parts, strict=True))
        regions = proposals(ranked, self.config.num_image_candidates)
        return Searched(levels, places_A4, scores_BA, offsets_BA4, regions)

    def _proposal_loss(self, search: Searched, sizes_B2: Tensor, objects: Objects) -> Tensor:
        """Cross-entropy and smooth absolute error of random anchors, (B,)."""
        places_A4, there_BM = search.anchors, objects.classes >= 0
        object_BA = matched_anchors(overlaps(objects.boxes, places_A4) * there_BM[..., None])
        trained = torch.ones_like(object_BA, dtype=torch.bool)
        if self.config.inside_only:
            trained = (
                clipped(places_A4.expand(len(sizes_B2), -1, 4), sizes_B2).eq(places_A4).all(-1)
            )
        positive, negative = object_BA >= 0, object_BA == BACKGROUND
        indices, there = chosen(
            positive & trained,
            negative & trained,
            objects.draws,
            self.config.anchors_per_image,
            POSITIVE_ANCHORS,
        )
        wanted = positive.gather(1, indices).to(search.scores.dtype)
        entropy = F.binary_cross_entropy_with_logits(
            search.scores.gather(1, indices), wanted, reduction="none"
        )
        boxes, _ = objects.of(object_BA.gather(1, indices).clamp(min=0))
        offsets = search.offsets.gather(1, indices[..., None].expand(-1, -1, 4))
        error = _offset_error(offsets, boxes, places_A4[indices], wanted * there, beta=1 / 9)
        return ((entropy * there).sum(1) + error) / there.sum(1).clamp(min=1)

    def _region_loss(self, search: Searched, objects: Objects) -> Tensor:
        """The losses of random regions, (B,): classes, boxes and masks."""
        picked = self._training_regions(search.proposals, objects)
        x = self._pooled(search.levels, picked.boxes, BOX_CELLS)
        scores, offsets = (output.unflatten(0, picked.there.shape) for output in self.box_head(x))
        entropy = F.cross_entropy(scores.transpose(1, 2), picked.kinds, reduction="none")
        boxes, _ = objects.of(picked.objects)
        kind = picked.kinds[..., None, None].expand(-1, -1, 1, 4)
        error = _offset_error(
            offsets.gather(2, kind)[:, :, 0],
            boxes,
            picked.boxes,
            (picked.kinds > 0) & picked.there,
            beta=1.0,
            scale=offsets.new_tensor(WEIGHTS),
        )
        loss = ((entropy * picked.there).sum(1) + error) / picked.there.sum(1).clamp(min=1)
        # Positive regions are first, so that the others need no masks
        first = Picked(*(tensor[:, : self._most_positive] for tensor in picked))
        return loss + self._mask_loss(search.levels, objects, first)

    @property
    def _most_positive(self) -> int:
        return int(self.config.regions_per_image * POSITIVE_REGIONS)

    def _training_regions(self, proposed: Proposals, objects: Objects) -> Picked:
        """Random regions; true boxes are candidates, since early proposals overlap no object."""
        real_BM = objects.classes >= 0
        boxes = torch.cat((proposed.boxes, objects.boxes), 1)
        valid = torch.cat((proposed.there, real_BM), 1)
        object_BN = matched(overlaps(objects.boxes, boxes) * real_BM[..., None], 0.5, 0.5)
        indices, there = chosen(
            (object_BN >= 0) & valid,
            (object_BN == BACKGROUND) & valid,
            # Other random numbers than those of the anchors
            objects.draws + 1,
            self.config.regions_per_image,
            POSITIVE_REGIONS,
        )
        of_region = object_BN.gather(1, indices)
        which = of_region.clamp(min=0)
        kinds = torch.where(of_region >= 0, objects.of(which)[1] + 1, 0)
        return Picked(boxes.gather(1, indices[..., None].expand(-1, -1, 4)), which, kinds, there)

    def _mask_loss(self, levels: list[Tensor], objects: Objects, picked: Picked) -> Tensor:
        """Cross-entropy of the points of the true class, a mean over positive regions, (B,)."""
        scores = self._masks_of(levels, picked.boxes, picked.kinds.flatten())
        counts_BR = ((picked.kinds > 0) & picked.there).to(scores.dtype)
        boxes, _ = objects.of(picked.objects)
        rows = torch.arange(len(boxes), device=boxes.device)[:, None]
        wanted = masks_of_regions(
            objects.masks[rows, picked.objects].flatten(0, 1),
            boxes.flatten(0, 1),
            picked.boxes.flatten(0, 1),
            scores.shape[-1],
        )
        entropy = F.binary_cross_entropy_with_logits(
            scores, wanted.to(scores.dtype), reduction="none"
        )
        of_region = entropy.mean((1, 2)).view_as(counts_BR)
        return (of_region * counts_BR).sum(1) / counts_BR.sum(1).clamp(min=1)

    def _masks_of(self, levels: list[Tensor], boxes_BR4: Tensor, kinds_N: Tensor) -> Tensor:
        """Scores of the masks of regions, each of its class, (N, 28, 28)."""
        x = self._pooled(levels, boxes_BR4, MASK_CELLS)
        scores: Tensor = self.mask_head(x)
        return scores[torch.arange(len(scores), device=scores.device), kinds_N]

    def _pooled(self, levels: list[Tensor], boxes_BR4: Tensor, cells: int) -> Tensor:
        """Features of regions; the coarsest level has only proposals."""
        return pooled(levels[:4], boxes_BR4, STRIDES[:4], cells, self.config.canonical_size)

    def _detect(self, search: Searched, sizes_B2: Tensor) -> list[Detected]:
        """The objects of each image, best first."""
        regions_BR4, there_BR = search.proposals
        scores, offsets = self.box_head(self._pooled(search.levels, regions_BR4, BOX_CELLS))
        shape = regions_BR4.shape[:2]
        scores_BRK = scores.softmax(-1).unflatten(0, shape) * there_BR[..., None]
        offsets_BRK4 = offsets.unflatten(0, shape) / offsets.new_tensor(WEIGHTS)
        boxes_BRK4 = decode(offsets_BRK4, regions_BR4[:, :, None])
        detected = []
        for index in range(len(sizes_B2)):
            boxes_RK4 = clipped(boxes_BRK4[index].transpose(0, 1), sizes_B2[index, None])
            boxes, values, kinds = _most_certain(self.config, boxes_RK4, scores_BRK[index].T)
            levels = [level[index : index + 1] for level in search.levels]
            masks = self._masks_of(levels, boxes[None], kinds + 1).sigmoid()
            detected.append(Detected(boxes, values, kinds, masks))
        return detected


def _most_certain(
    config: MaskRCNN, boxes_KR4: Tensor, scores_KR: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes, scores and classes from 0 of the best regions that no better one replaces."""
    parts = []
    # The first class is the background; only boxes of one class compete
    for kind, (boxes, scores) in enumerate(zip(boxes_KR4[1:], scores_KR[1:], strict=True)):
        likely = scores > config.least_score
        boxes, scores = boxes[likely], scores[likely]
        same = torch.zeros_like(scores)
        keep = suppress(boxes, scores, same, config.most_overlap)
        parts.append((boxes[keep], scores[keep], torch.full_like(keep, kind)))
    boxes, scores, kinds = (torch.cat(columns) for columns in zip(*parts, strict=True))
    best_N = scores.argsort(descending=True, stable=True)[: config.detections]
    return boxes[best_N], scores[best_N], kinds[best_N]


def _offset_error(
    offsets: Tensor,
    boxes: Tensor,
    places: Tensor,
    counts: Tensor,
    *,
    beta: float,
    scale: Tensor | float = 1.0,
) -> Tensor:
    """Smooth absolute error of the offsets from places to boxes, where it counts, (B,)."""
    # Elsewhere the target is the place itself, whose logarithm is finite
    boxes = torch.where(counts[..., None] > 0, boxes, places)
    wanted = encode(boxes, places) * scale
    error = F.smooth_l1_loss(offsets, wanted, reduction="none", beta=beta).sum(-1)
    return (error * counts).sum(1)
