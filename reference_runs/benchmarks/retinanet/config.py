"""RetinaNet: shapes, anchors, optimizer and post-processing at both scales.

Source of the reference figures: the policy's benchmark table, and the reference convergence points
of 5.1 at a batch of 256.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import version
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.detection.config import DetectionConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.parallel.mesh import Mesh

NAMES_TENSORS = ("2.0", "2.1")
"""Rounds whose closed logs list every initialized tensor."""


@dataclass(frozen=True, kw_only=True)
class RetinaNet(DetectionConfig):
    """Training of a RetinaNet detector."""

    name: ClassVar[str] = "retinanet"

    # model
    units: tuple[int, ...] = (3, 4, 6, 3)
    base_width: int
    groups: int
    group_width: int
    pyramid_width: int
    trainable_stages: int
    """Trained stages of the backbone, counted from its end; 5 includes the stem."""

    # anchors and targets
    anchor_sizes: tuple[int, ...]
    """Side of the smallest square anchor at each level of the pyramid, in pixels."""
    foreground_overlap: float = 0.5
    background_overlap: float = 0.4
    focal_alpha: float = 0.25
    focal_gamma: float = 2.0

    # optimizer
    opt_name: str = "adam"
    opt_base_learning_rate: float
    opt_weight_decay: float = 0.0
    opt_learning_rate_warmup_epochs: int = 1
    opt_learning_rate_warmup_factor: float = 0.001

    # detections
    least_score: float = 0.05
    candidates: int = 1000
    """Maximum boxes of a level before overlapping ones are removed."""
    most_overlap: float = 0.5
    detections: int = 300

    def benchmark_in(self, round_name: str) -> str:
        """`ssd` until 4.1, after the detector that it replaced."""
        return "ssd" if version(round_name) < (5, 0) else self.name

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if a rank along `sp` would have no row of the two finest levels."""
        rows = level_sides(self.image_size, 2)[1]
        if mesh.sp > rows:
            raise RunFault(
                f"--mesh: sp is {mesh.sp}; expected at most {rows}, the rows of the second level"
                f" of features of images of {self.image_size}"
            )

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The model's 89 initialized tensors, if the round requires them."""
        if round_name not in NAMES_TENSORS:
            return ()
        return tuple(f"module.{name}" for name in tensor_names(self.units))


def level_sides(image: int, levels: int) -> list[int]:
    """Sides of the pyramid's maps, in cells: three halvings, then one more per level."""
    side, sides = image, []
    for halving in range(levels + 2):
        # Rounded up, as convolutions with padding do
        side = -(-side // 2)
        if halving >= 2:
            sides.append(side)
    return sides


def tensor_names(units: tuple[int, ...]) -> Iterator[str]:
    """The name of every parameter; norms are frozen and have none."""
    body, pyramid = "backbone.body", "backbone.fpn"
    yield f"{body}.conv1.weight"
    for stage, count in enumerate(units, 1):
        for unit in range(count):
            layers = ["conv1", "conv2", "conv3"] + (["downsample.0"] if unit == 0 else [])
            yield from (f"{body}.layer{stage}.{unit}.{layer}.weight" for layer in layers)
    convs = [
        *(
            f"{pyramid}.{kind}.{index}"
            for kind in ("inner_blocks", "layer_blocks")
            for index in range(3)
        ),
        *(f"{pyramid}.extra_blocks.{level}" for level in ("p6", "p7")),
        *(
            f"head.{kind}_head.conv.{index}"
            for kind in ("classification", "regression")
            for index in EVEN
        ),
        "head.classification_head.cls_logits",
        "head.regression_head.bbox_reg",
    ]
    yield from (f"{conv}.{part}" for conv in convs for part in ("weight", "bias"))


EVEN = (0, 2, 4, 6)
"""Indices of the four convolutions of a head, between its ReLUs."""


def smoke() -> RetinaNet:
    """All layers, narrow, on 64 x 64 images with up to three generated shapes."""
    return RetinaNet(
        image_size=64,
        classes=3,
        base_width=8,
        groups=4,
        group_width=4,
        pyramid_width=32,
        # The backbone is not pretrained here, so no stage can be frozen
        trainable_stages=5,
        # Five levels even if larger anchors do not fit: the rules list 89 tensors
        anchor_sizes=(16, 32, 64, 64, 64),
        global_batch_size=16,
        train_samples=800,
        eval_samples=100,
        target=0.34,
        last_step=12 * 50,
        opt_base_learning_rate=1e-3,
        candidates=100,
        detections=20,
    )


POINT = ReferencePoint("training", "5.1", "retinanet", "retinanet_ref_256")


def reference() -> RetinaNet:
    """OpenImages with the settings of the convergence points of 5.1, at a batch of 256."""
    point = POINT.settings()
    batch, images = point["global_batch_size"], 1_170_301
    return RetinaNet(
        image_size=800,
        classes=264,
        base_width=64,
        groups=32,
        group_width=4,
        pyramid_width=256,
        trainable_stages=3,
        anchor_sizes=(32, 64, 128, 256, 512),
        global_batch_size=batch,
        gradient_accumulation_steps=16,
        train_samples=images,
        eval_samples=24_781,
        target=0.34,
        last_step=26 * (images // batch),
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_weight_decay=float(point["opt_weight_decay"]),
        opt_learning_rate_warmup_epochs=point["opt_learning_rate_warmup_epochs"],
        opt_learning_rate_warmup_factor=point["opt_learning_rate_warmup_factor"],
        workers=8,
    )


BENCHMARKS = (
    Benchmark(
        name="retinanet",
        title="Light object detection: RetinaNet on OpenImages",
        smoke=smoke,
        reference=reference,
        point=POINT,
        axes=("dp", "sp"),
        rounds=("2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1"),
        data=(
            "train/ and validation/, each with data/ (JPEG files) and"
            " labels/openimages-mlperf.json (COCO's format), and backbone.pt"
        ),
    ),
)
