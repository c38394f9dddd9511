"""Detections in COCO's format, and the mean average precision of their boxes and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from podium.reference_runs.benchmarks.maskrcnn.config import Precisions
from podium.reference_runs.benchmarks.maskrcnn.masks import pasted
from podium.reference_runs.modeling.detection.precision import average_precision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.maskrcnn.data import TrueScenes
    from podium.reference_runs.benchmarks.maskrcnn.detector import Detected


class Results(NamedTuple):
    """Detections in an image: rows of image, left, top, width, height, score, category; masks."""

    rows: NDArray[np.float64]
    masks: list[dict[str, Any]]


def results(source: TrueScenes, index: int, detected: Detected, size_2: Tensor) -> Results:
    """Detections in the pixels of the original image; `size_2` is that of the resized one."""
    from pycocotools import mask as rle  # type: ignore[import-untyped]

    number, height, width = source.original(index)
    boxes_N4, whole_NHW = in_original(detected, size_2, height, width)
    whole = whole_NHW.cpu().numpy()
    boxes, scores = boxes_N4.double().cpu().numpy(), detected.scores.double().cpu().numpy()
    kinds = np.array([source.category(kind) for kind in detected.classes.tolist()], np.float64)
    numbers = np.full((len(boxes), 1), float(number))
    sides = boxes[:, 2:] - boxes[:, :2]
    rows = np.hstack((numbers, boxes[:, :2], sides, scores[:, None], kinds[:, None]))
    encoded = rle.encode(np.asfortranarray(whole.transpose(1, 2, 0)))
    masks = [
        {"image_id": number, "category_id": int(kind), "segmentation": encoding, "score": score}
        for kind, encoding, score in zip(kinds, encoded, scores.tolist(), strict=True)
    ]
    return Results(rows, masks)


def in_original(
    detected: Detected, size_2: Tensor, height: int, width: int
) -> tuple[Tensor, Tensor]:
    """Boxes, (N, 4), and masks as bytes, (N, H, W), in an image before resizing to `size_2`."""
    scale_4 = detected.boxes.new_tensor([width, height] * 2) / size_2.flip(0).repeat(2)
    boxes_N4 = detected.boxes * scale_4
    return boxes_N4, pasted(detected.masks, boxes_N4, height, width).byte()


def precisions(source: TrueScenes, image_results: Sequence[Results]) -> Precisions:
    """COCO's mean average precision of boxes and of masks; 0 without any detection."""
    rows = np.concatenate([np.empty((0, 7)), *(result.rows for result in image_results)])
    if not len(rows):
        return Precisions(0.0, 0.0)
    truth = source.truth()
    masks = [mask for result in image_results for mask in result.masks]
    return Precisions(
        average_precision(truth, rows, "bbox"), average_precision(truth, masks, "segm")
    )
