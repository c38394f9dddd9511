"""SSD: shapes, default boxes, optimizer and post-processing at both scales.

Source of the reference figures: Liu et al., "SSD: Single Shot MultiBox Detector", 2016; the
benchmark's description; the policy's hyperparameter section; the reference convergence points of
1.1 at a batch of 1024.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.errors import RunFault
from podium.reference_runs.modeling.detection.config import DetectionConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.parallel.mesh import Mesh

NAMES_TENSORS = ("1.1",)
"""Rounds whose closed logs list every initialized tensor."""

IMAGES = 117_266
"""Training images of COCO 2017 with at least one object."""


class Extra(NamedTuple):
    """A block after the backbone: a 1 x 1 convolution and one of 3 x 3, to a smaller map."""

    inside: int
    outputs: int
    stride: int
    padding: int


@dataclass(frozen=True, kw_only=True)
class Ssd(DetectionConfig):
    """Training of an SSD detector."""

    name: ClassVar[str] = "ssd"

    # model
    units: tuple[int, ...] = (3, 4, 6)
    base_width: int
    model_bn_span: int
    """Images per batch-norm group: a part of a rank's micro-batch, or those of several ranks."""
    extras: tuple[tuple[int, int, int, int], ...]
    """Inner width, output width, stride and padding of each block after the backbone."""

    # default boxes
    box_steps: tuple[int, ...]
    """Distance of the boxes of each map, in pixels."""
    box_sizes: tuple[int, ...]
    """Side of the smallest square box of each map, in pixels, and of the map that would follow."""
    box_ratios: tuple[tuple[int, ...], ...] = ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,))
    """Aspect ratios of each map; each ratio also stands for its inverse."""

    # targets
    foreground_overlap: float = 0.5
    negatives: int = 3
    """Boxes without an object in the loss, for each box with one."""

    # data
    max_samples: int
    """Attempts at a random crop before its minimum overlap is drawn again."""

    # optimizer
    opt_base_learning_rate: float
    opt_weight_decay: float
    opt_momentum: float = 0.9
    opt_learning_rate_warmup_factor: int = 0
    opt_learning_rate_warmup_steps: int
    opt_learning_rate_decay_boundary_epochs: tuple[int, ...]
    opt_learning_rate_decay_factor: float = 0.1

    # detections
    least_score: float = 0.05
    most_overlap: float = 0.5
    detections: int = 200
    """Maximum boxes of a class before overlapping ones are removed, and of an image after it."""

    evaluation_epochs: tuple[int, ...]

    def evaluation_steps(self) -> Iterator[int]:
        """The steps at the end of the evaluated epochs."""
        steps = (epoch * self.steps_per_epoch for epoch in self.evaluation_epochs)
        yield from (step for step in steps if step <= self.last_step)

    def sides(self) -> list[int]:
        """Sides of the feature maps, in cells."""
        # Three halvings, rounded up as by convolutions with padding
        sides = [-(-self.image_size // 8)]
        for extra in map(Extra._make, self.extras):
            sides.append((sides[-1] + 2 * extra.padding - 3) // extra.stride + 1)
        return sides

    def shapes(self) -> list[int]:
        """Default boxes per cell of each map: two squares, and two for each ratio."""
        return [2 + 2 * len(ratios) for ratios in self.box_ratios]

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if a rank along `sp` would have no row of the backbone's features."""
        rows = self.sides()[0]
        if mesh.sp > rows:
            raise RunFault(
                f"--mesh: sp is {mesh.sp}; expected at most {rows}, the rows of the backbone's"
                f" features of images of {self.image_size}"
            )

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The model's 119 tensors in the rules' spelling, if the round requires them."""
        if round_name not in NAMES_TENSORS:
            return ()
        return tuple(f"ssd0_{name}" for name in tensor_names(self.units, len(self.extras)))


def tensor_names(units: tuple[int, ...], extras: int) -> Iterator[str]:
    """Every trained tensor, in the spelling of the rules' list."""
    body = "resnetmlperf0"
    yield from _normed(f"{body}_", 0)
    for stage, count in enumerate(units, 1):
        # Two convolutions per unit, and a projection where the width changes
        for number in range(2 * count + (stage > 1)):
            yield from _normed(f"{body}_stage{stage}_", number)
    convs = [f"expand_{kind}conv{number}" for number in range(extras) for kind in ("trans_", "")]
    convs += [f"convpredictor{number}_conv0" for number in range(extras + 1)]
    yield from (f"{conv}_{part}" for conv in convs for part in ("weight", "bias"))


def _normed(place: str, number: int) -> Iterator[str]:
    yield f"{place}conv{number}_weight"
    yield from (f"{place}batchnorm{number}_{part}" for part in ("gamma", "beta"))


def smoke() -> Ssd:
    """All layers at an eighth of the width, on 64 x 64 images with up to three generated shapes."""
    epochs, images, batch = 50, 320, 16
    return Ssd(
        image_size=64,
        classes=3,
        base_width=8,
        model_bn_span=16,
        # Maps of 8, 4, 2, 1, 1 and 1 cells
        extras=((32, 64, 2, 1), (32, 64, 2, 1), (16, 32, 2, 1), (16, 32, 2, 1), (16, 32, 2, 1)),
        box_steps=(8, 16, 32, 64, 64, 64),
        box_sizes=(16, 24, 32, 40, 48, 56, 64),
        global_batch_size=batch,
        train_samples=images,
        eval_samples=100,
        target=0.23,
        last_step=epochs * (images // batch),
        max_samples=50,
        opt_base_learning_rate=0.01,
        opt_weight_decay=5e-4,
        opt_learning_rate_warmup_steps=100,
        # The closed rules require 40 and 50, both changed by the same number of tenths
        opt_learning_rate_decay_boundary_epochs=(28, 35),
        evaluation_epochs=tuple(range(5, epochs + 1, 5)),
    )


def reference() -> Ssd:
    """COCO with the settings of the convergence point of 1.1 at a batch of 1024."""
    epochs, batch = 80, 1024
    return Ssd(
        image_size=300,
        classes=80,
        base_width=64,
        model_bn_span=128,
        # Maps of 38, 19, 10, 5, 3 and 1 cells
        extras=(
            *((256, 512, 2, 1), (256, 512, 2, 1), (128, 256, 2, 1)),
            *((128, 256, 1, 0), (128, 256, 1, 0)),
        ),
        box_steps=(8, 16, 32, 64, 100, 300),
        box_sizes=(21, 45, 99, 153, 207, 261, 315),
        global_batch_size=batch,
        gradient_accumulation_steps=8,
        train_samples=IMAGES,
        eval_samples=5000,
        target=0.23,
        last_step=epochs * (IMAGES // batch),
        max_samples=50,
        # 0.0025 for 32 images. The convergence point has ten times that rate, published logs of
        # the reference's framework have not
        opt_base_learning_rate=0.08,
        opt_weight_decay=5e-4,
        opt_learning_rate_warmup_steps=300,
        opt_learning_rate_decay_boundary_epochs=(40, 50),
        # The rules of 0.7 and 1.0 begin with 40 and 50; since 1.1 they require every 5 epochs
        evaluation_epochs=tuple(range(40, epochs + 1, 5)),
        workers=8,
    )


BENCHMARKS = (
    Benchmark(
        name="ssd",
        title="Light object detection: SSD with ResNet-34 on COCO",
        smoke=smoke,
        reference=reference,
        axes=("dp", "sp"),
        rounds=("0.7", "1.0", "1.1"),
        data=(
            "train2017/ and val2017/ (JPEG files), annotations/ with instances_train2017.json and"
            " instances_val2017.json, and backbone.pt"
        ),
    ),
)
