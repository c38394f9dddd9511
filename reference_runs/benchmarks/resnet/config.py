"""ResNet-50 v1.5: shapes, the two optimizers in the rules, and the evaluation steps.

Source of the reference figures: the policy's hyperparameter section, and the reference convergence
point of 4.0 at a batch of 4096.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from podium.reference_runs.parallel.mesh import Mesh

# The rules of 3.0 dropped the lists of tensors
NAMES_TENSORS = ("1.1", "2.0", "2.1")
"""Rounds whose closed logs list every initialized tensor."""


@dataclass(frozen=True, kw_only=True)
class ResNet(Config):
    """Training of a ResNet with bottleneck blocks.

    The config has the settings of both optimizers; those of `opt_name` are used and logged.
    """

    name: ClassVar[str] = "resnet"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "top-1 accuracy"
    rate_field: ClassVar[str] = "sgd_opt_base_learning_rate"

    # model
    image_size: int
    classes: int
    units: tuple[int, ...] = (3, 4, 6, 3)
    base_width: int
    stem_kernel: int
    stem_pools: bool
    model_bn_span: int
    """Images per batch-norm group: a part of a rank's micro-batch, or those of several ranks."""

    # data
    least_area: float
    """The smallest part of an image in a training crop."""
    label_smoothing: float = 0.1

    # optimizer
    opt_name: str
    opt_learning_rate_warmup_epochs: int
    sgd_opt_base_learning_rate: float
    # The closed rules fix both end rates, LARS's power and its epsilon
    sgd_opt_end_learning_rate: float = 1e-4
    sgd_opt_learning_rate_decay_poly_power: int = 2
    sgd_opt_learning_rate_decay_steps: int
    sgd_opt_momentum: float = 0.9
    sgd_opt_weight_decay: float
    lars_opt_base_learning_rate: float
    lars_opt_end_learning_rate: float = 1e-4
    lars_opt_learning_rate_decay_poly_power: int = 2
    lars_opt_learning_rate_decay_steps: int
    lars_opt_learning_rate_warmup_epochs: int
    lars_opt_momentum: float = 0.9
    lars_opt_weight_decay: float
    lars_epsilon: float = 0.0

    # evaluation
    evaluation_offset: int
    """The epoch of the first evaluation, 1 to 4; evaluations follow every fourth epoch."""

    def evaluation_steps(self) -> Iterator[int]:
        """Every four epochs, according to the rules."""
        per_epoch = self.steps_per_epoch
        yield from range(self.evaluation_offset * per_epoch, self.last_step + 1, 4 * per_epoch)

    def records(self, round_name: str) -> Mapping[str, Any]:
        """All fields except those of the unused optimizer; 0.6 has one key for both base rates."""
        unused: tuple[str, ...] = ("sgd_",) if self.opt_name == "lars" else ("lars_",)
        if self.opt_name == "lars":
            # LARS logs its warmup under a separate key
            unused += ("opt_learning_rate_warmup_epochs",)
        rate, _, warmup, *_ = self.schedule
        first = {"opt_base_learning_rate": rate, "opt_learning_rate_warmup_epochs": warmup}
        records = super().records(round_name)
        used = {key: value for key, value in records.items() if not key.startswith(unused)}
        return used | first if round_name == "0.6" else used

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if a rank along `sp` would have no row of the last stage."""
        # The stem, its pooling and every stage but the first halve the sides and round up
        rows = -(-self.image_size // 2 ** (self.stem_pools + len(self.units)))
        if mesh.sp > rows:
            raise RunFault(
                f"--mesh: sp is {mesh.sp}; expected at most {rows}, the rows of the last stage's"
                f" features of images of {self.image_size}"
            )

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The model's 161 tensors in the rules' spelling, if the round requires them."""
        return tuple(tensor_names(self.units)) if round_name in NAMES_TENSORS else ()

    @property
    def schedule(self) -> tuple[float, float, int, int, int]:
        """Base and end rate, warmup epochs, steps and power of decay, of the optimizer in use."""
        if self.opt_name == "lars":
            return (
                self.lars_opt_base_learning_rate,
                self.lars_opt_end_learning_rate,
                self.lars_opt_learning_rate_warmup_epochs,
                self.lars_opt_learning_rate_decay_steps,
                self.lars_opt_learning_rate_decay_poly_power,
            )
        return (
            self.sgd_opt_base_learning_rate,
            self.sgd_opt_end_learning_rate,
            self.opt_learning_rate_warmup_epochs,
            self.sgd_opt_learning_rate_decay_steps,
            self.sgd_opt_learning_rate_decay_poly_power,
        )


def tensor_names(units: tuple[int, ...]) -> Iterator[str]:
    """Every trained tensor of a bottleneck ResNet, in the spelling of the rules' lists."""
    yield from ("conv0_weight", "bn0_gamma", "bn0_beta", "fc1_weight", "fc1_bias")
    for stage, count in enumerate(units, 1):
        for unit in range(1, count + 1):
            layers = ["1", "2", "3"] + (["sc"] if unit == 1 else [])
            for layer in layers:
                conv = "conv1sc" if layer == "sc" else f"conv{layer}"
                place = f"stage{stage}_unit{unit}"
                yield f"{place}_{conv}_weight"
                yield from (f"{place}_bn{layer}_{part}" for part in ("gamma", "beta"))


def smoke() -> ResNet:
    """All 50 layers at an eighth of the width, on generated shapes."""
    epochs = 18
    steps = epochs * 16
    return ResNet(
        image_size=32,
        classes=10,
        base_width=8,
        stem_kernel=3,
        stem_pools=False,
        model_bn_span=32,
        least_area=0.6,
        global_batch_size=64,
        train_samples=1024,
        eval_samples=500,
        target=0.759,
        last_step=steps,
        opt_name="sgd",
        opt_learning_rate_warmup_epochs=1,
        # The closed rules require a multiple of 0.001
        sgd_opt_base_learning_rate=0.1,
        sgd_opt_learning_rate_decay_steps=steps,
        # The closed rules require 1e-4 times a power of two
        sgd_opt_weight_decay=2e-4,
        lars_opt_base_learning_rate=5.0,
        lars_opt_learning_rate_decay_steps=steps,
        lars_opt_learning_rate_warmup_epochs=1,
        lars_opt_weight_decay=2e-4,
        evaluation_offset=2,
    )


POINT = ReferencePoint("training", "4.0", "resnet", "resnet_ref_4096")


def reference() -> ResNet:
    """ImageNet with the settings of the convergence point of 4.0 at a batch of 4096."""
    point = POINT.settings()
    batch, images = point["global_batch_size"], 1_281_167
    return ResNet(
        image_size=224,
        classes=1000,
        base_width=64,
        stem_kernel=7,
        stem_pools=True,
        model_bn_span=point["model_bn_span"],
        least_area=0.08,
        global_batch_size=batch,
        gradient_accumulation_steps=8,
        train_samples=images,
        eval_samples=50_000,
        target=0.759,
        last_step=90 * (images // batch),
        opt_name=point["optimizer"],
        opt_learning_rate_warmup_epochs=5,
        sgd_opt_base_learning_rate=1.6,
        sgd_opt_learning_rate_decay_steps=90 * (images // batch),
        sgd_opt_weight_decay=1e-4,
        lars_opt_base_learning_rate=float(point["opt_base_learning_rate"]),
        lars_opt_learning_rate_decay_steps=point["opt_learning_rate_decay_steps"],
        lars_opt_learning_rate_warmup_epochs=point["opt_learning_rate_warmup_epochs"],
        lars_opt_momentum=point["opt_momentum"],
        lars_opt_weight_decay=point["opt_weight_decay"],
        evaluation_offset=3,
        workers=8,
    )


BENCHMARKS = (
    Benchmark(
        name="resnet",
        title="Image classification: ResNet-50 v1.5 on ImageNet",
        smoke=smoke,
        reference=reference,
        axes=("dp", "sp"),
        point=POINT,
        rounds=("0.7", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0"),
        data="train/ and val/, each with a folder of JPEG files for each class, or tar archives",
    ),
)
