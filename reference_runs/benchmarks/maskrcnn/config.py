"""Mask R-CNN: shapes, anchors, sampling, optimizer and post-processing at both scales.

Source of the reference figures: the policy's benchmark table and hyperparameter section, and the
reference convergence points of 3.1 at a batch of 64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAMES_TENSORS = ("1.1", "2.0", "2.1")
"""Rounds whose closed logs list every initialized tensor."""


class Precisions(float):
    """The mean average precision of boxes, with that of masks."""

    masks: float

    def __new__(cls, boxes: float, masks: float) -> Self:
        """Both precisions of an evaluation."""
        precisions = super().__new__(cls, boxes)
        precisions.masks = masks
        return precisions


@dataclass(frozen=True, kw_only=True)
class MaskRCNN(Config):
    """Training of a Mask R-CNN detector. A sample is an image."""

    name: ClassVar[str] = "maskrcnn"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "mean average precision of boxes, IoU 0.50 to 0.95"

    mask_target: float = 0.339
    """The target of the precision of masks, in addition to that of boxes."""

    # images
    min_image_size: int
    """The shorter side of a resized image, if the longer one is not limited."""
    max_image_size: int
    most_objects: int
    """Objects of the fullest training image, for plans."""
    mask_points: int
    """Points along a side of the grid on which the mask of an object is kept."""

    # model
    classes: int
    units: tuple[int, ...] = (3, 4, 6, 3)
    base_width: int
    pyramid_width: int
    head_width: int
    mask_width: int
    trainable_stages: int
    """Trained stages of the backbone, counted from its end; 5 includes the stem."""

    # anchors and proposals
    anchor_sizes: tuple[int, ...]
    """Side of the square anchor at each level of the pyramid, in pixels."""
    inside_only: bool = True
    """Whether anchors beyond the border of an image are not trained."""
    anchors_per_image: int = 256
    training_candidates: int
    """Maximum proposals of a level before overlapping ones are removed."""
    evaluation_candidates: int
    num_image_candidates: int = 1000
    """Maximum proposals of an image."""
    canonical_size: int
    """Side of the regions that are pooled from the third level, P4, in pixels."""
    regions_per_image: int = 512

    # optimizer
    opt_name: str = "sgd"
    opt_base_learning_rate: float
    opt_momentum: float = 0.9
    opt_weight_decay: float = 1e-4
    opt_gradient_clip_norm: float = 0.0
    """Maximum norm of the gradient; 0 for no limit, as in the reference."""
    opt_learning_rate_warmup_steps: int
    opt_learning_rate_warmup_factor: float
    opt_learning_rate_decay_factor: float = 0.1
    opt_learning_rate_decay_steps: tuple[int, ...]

    # detections
    least_score: float = 0.05
    most_overlap: float = 0.5
    detections: int = 100

    def reached(self, quality: float) -> bool:
        """Whether both precisions reach their targets."""
        return super().reached(quality) and _masks(quality) >= self.mask_target

    @property
    def target_text(self) -> str:
        """Both targets."""
        return f"{super().target_text}, of masks {self.mask_target:g}"

    def figures(self, quality: float) -> str:
        """Both precisions."""
        return f"boxes {quality:.4f}, masks {_masks(quality):.4f}"

    def missed(self, quality: float) -> str:
        """The targets that were missed."""
        boxes, masks = super().reached(quality), _masks(quality) >= self.mask_target
        goals = [super().missed(quality), f"of masks >= {self.mask_target:g}"]
        if boxes == masks:
            return " and ".join(goals)
        return goals[1] if boxes else goals[0]

    def quality_records(
        self, quality: float, division: str
    ) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
        """Both precisions in one record, as the rules require."""
        yield "eval_accuracy", {"BBOX": float(quality), "SEGM": _masks(quality)}, {}

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The 21 layers that are initialized at random, if the round requires them."""
        return tuple(layer_names()) if round_name in NAMES_TENSORS else ()


def _masks(quality: float) -> float:
    return quality.masks if isinstance(quality, Precisions) else math.nan


def layer_names() -> Iterator[str]:
    """The layers outside of the backbone, under the names of the rules."""
    for level in range(1, 5):
        yield from (f"FPN_inner_block{level}", f"FPN_layer_block{level}")
    yield from ("RPNHead_conv", "RPNHead_cls", "RPNHead_bbox")
    yield from (f"ROI_BOX_FEATURE_EXTRACTOR_fc{layer}" for layer in (6, 7))
    yield from ("ROI_BOX_PREDICTOR_cls", "ROI_BOX_PREDICTOR_bbox")
    yield from (f"ROI_MASK_FEATURE_EXTRACTOR_fcn{layer}" for layer in range(1, 5))
    yield from ("ROI_MASK_PREDICTOR_fcn5", "ROI_MASK_PREDICTOR_fcn_logits")


def smoke() -> MaskRCNN:
    """All layers, narrow, on 64 x 64 images with up to three generated shapes."""
    return MaskRCNN(
        min_image_size=64,
        max_image_size=64,
        most_objects=3,
        mask_points=28,
        classes=3,
        base_width=8,
        pyramid_width=32,
        head_width=64,
        mask_width=16,
        # The backbone is not pretrained here, so no stage can be frozen
        trainable_stages=5,
        anchor_sizes=(16, 32, 64, 64, 64),
        # Most shapes are near a border of an image as small as that
        inside_only=False,
        anchors_per_image=64,
        training_candidates=50,
        evaluation_candidates=50,
        # Every shape is pooled from the finest level
        canonical_size=160,
        regions_per_image=32,
        global_batch_size=16,
        train_samples=400,
        eval_samples=100,
        target=0.377,
        last_step=16 * 25,
        opt_base_learning_rate=0.02,
        # The rules allow no lower rate, which is high without a pretrained backbone
        opt_gradient_clip_norm=2.0,
        opt_learning_rate_warmup_steps=75,
        opt_learning_rate_warmup_factor=0.01,
        opt_learning_rate_decay_steps=(250, 325),
        detections=20,
    )


POINT = ReferencePoint("training", "3.1", "maskrcnn", "maskrcnn_ref_64")


def reference() -> MaskRCNN:
    """COCO with the settings of the convergence points of 3.1, at a batch of 64."""
    point = POINT.settings()
    batch, images = point["global_batch_size"], 117_266
    return MaskRCNN(
        min_image_size=800,
        max_image_size=1333,
        most_objects=100,
        mask_points=112,
        classes=80,
        base_width=64,
        pyramid_width=256,
        head_width=1024,
        mask_width=256,
        trainable_stages=3,
        anchor_sizes=(32, 64, 128, 256, 512),
        training_candidates=2000,
        evaluation_candidates=1000,
        canonical_size=224,
        global_batch_size=batch,
        gradient_accumulation_steps=2,
        train_samples=images,
        eval_samples=5000,
        target=0.377,
        last_step=22 * (images // batch),
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        opt_learning_rate_warmup_factor=point["opt_learning_rate_warmup_factor"],
        opt_learning_rate_decay_steps=tuple(point["opt_learning_decay_steps"]),
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="maskrcnn",
        title="Heavy object detection: Mask R-CNN on COCO",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("0.7", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"),
        data=(
            "train2017/ and val2017/ (JPEG files), annotations/instances_train2017.json and"
            " instances_val2017.json, and backbone.pt"
        ),
    ),
)
