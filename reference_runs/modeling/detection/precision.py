"""Detections in COCO's format, and their mean average precision."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.modeling.detection.scenes import Source

Detections = tuple["Tensor", "Tensor", "Tensor"]
"""The boxes (N, 4), scores and classes (N,) of an image, best first."""


def rows(image: int, detections: Detections) -> NDArray[np.float64]:
    """Detections in COCO's format: image, left, top, width, height, score, class + 1."""
    boxes, scores, classes = (tensor.double().cpu().numpy() for tensor in detections)
    sizes = boxes[:, 2:] - boxes[:, :2]
    number = np.full((len(boxes), 1), float(image))
    return np.hstack((number, boxes[:, :2], sizes, scores[:, None], classes[:, None] + 1))


def mean_average_precision(
    source: Source, image_rows: Sequence[NDArray[np.float64]], classes: int
) -> float:
    """COCO's mean average precision over overlaps 0.50 to 0.95; 0 without any detection."""
    detections = np.concatenate(image_rows) if image_rows else np.empty((0, 7))
    if not len(detections):
        return 0.0
    return average_precision(objects(source, classes), detections, "bbox")


def average_precision(
    truth: dict[str, Any], detections: Any, kind: Literal["bbox", "segm"]
) -> float:
    """COCO's mean average precision over overlaps 0.50 to 0.95; `detections` must not be empty.

    `truth` is a dataset in COCO's format. `detections` has rows as `rows` returns them, or a
    list in COCO's format of results.
    """
    from pycocotools.coco import COCO  # type: ignore[import-untyped]
    from pycocotools.cocoeval import COCOeval  # type: ignore[import-untyped]

    with redirect_stdout(io.StringIO()):  # the tools print tables
        known = COCO()
        known.dataset = truth
        known.createIndex()
        judged = COCOeval(known, known.loadRes(detections), kind)
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    # The tools return -1 if there is nothing to evaluate
    return max(0.0, float(judged.stats[0]))


def objects(source: Source, classes: int) -> dict[str, Any]:
    """The true objects of all scenes, in COCO's format."""
    notes: list[dict[str, Any]] = []
    for image in range(len(source)):
        scene = source.scene(image)
        crowds = np.zeros(len(scene.boxes), bool) if scene.crowds is None else scene.crowds
        for (left, top, right, bottom), kind, crowd in zip(
            scene.boxes.tolist(), scene.classes.tolist(), crowds.tolist(), strict=True
        ):
            width, height = right - left, bottom - top
            notes.append(
                {
                    "id": len(notes) + 1,
                    "image_id": image,
                    "category_id": kind + 1,
                    "bbox": [left, top, width, height],
                    "area": width * height,
                    "iscrowd": int(crowd),
                }
            )
    return {
        "info": {},
        "images": [{"id": image} for image in range(len(source))],
        "categories": [{"id": kind + 1} for kind in range(classes)],
        "annotations": notes,
    }
