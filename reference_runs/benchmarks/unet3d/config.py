"""3D U-Net: shapes, schedule and evaluation steps at both scales.

Source of the reference figures: the policy's hyperparameter section, and the reference convergence
point of 4.0 at a batch of 28.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit, version
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.parallel.mesh import Mesh

NAMES_TENSORS = ("1.1", "2.0", "2.1")
"""Rounds whose closed logs list every initialized tensor."""

CASES = 168
"""Number of training volumes in the benchmark, which defines the evaluation steps."""


@dataclass(frozen=True, kw_only=True)
class UNet3D(Config):
    """Training of a 3D U-Net."""

    name: ClassVar[str] = "unet3d"
    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "mean Dice score of kidney and tumor"

    # model
    filters: tuple[int, ...]
    """Channels of the input block, then of each level below it."""
    classes: int = 3

    # data
    volume_size: int = 0
    """Sides of the generated volumes; the real ones differ."""
    training_input_shape: tuple[int, int, int]
    validation_input_shape: tuple[int, int, int]
    validation_overlap: float = 0.5
    oversampling: float = 0.4
    """Share of the training patches that are centered at a foreground voxel."""

    # optimizer
    opt_name: str = "sgd"
    opt_base_learning_rate: float
    opt_initial_learning_rate: float = 1e-4
    opt_learning_rate_warmup_epochs: int
    opt_learning_rate_decay_boundary_epochs: tuple[int, ...] = ()
    opt_learning_rate_decay_factor: float = 1.0
    opt_momentum: float = 0.9
    opt_weight_decay: float = 0.0

    def evaluation_steps(self) -> Iterator[int]:
        """From the epoch that ends 168 000 samples on, every 3360 samples; whole epochs."""
        # The samples that an epoch really uses, without the incomplete last batch
        samples = self.steps_per_epoch * self.global_batch_size
        first, interval = (-(-count * CASES // samples) for count in (1000, 20))
        epochs = self.steps_per_epoch
        yield from range(first * epochs, self.last_step + 1, interval * epochs)

    def unit_in(self, round_name: str) -> Unit:
        """Epochs until 3.0, then samples under the same name."""
        return Unit.EPOCHS if version(round_name) < (3, 1) else Unit.SAMPLES_AS_EPOCHS

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if a rank along `sp` would not have whole planes at every level."""
        parts = mesh.sp * 2 ** (len(self.filters) - 1)
        for name in ("training_input_shape", "validation_input_shape") if mesh.sp > 1 else ():
            sides = getattr(self, name)
            if len({*sides}) > 1 or sides[0] % parts:
                raise RunFault(
                    f"--mesh: sp is {mesh.sp}, with {len(self.filters) - 1} halvings of sides;"
                    f" {name} is {sides}; expected equal sides that {parts} divides"
                )

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The initialized layers, if the round requires them: 50 at reference scale."""
        return tuple(layer_names(len(self.filters))) if round_name in NAMES_TENSORS else ()


def layer_names(levels: int) -> Iterator[str]:
    """Every layer with weights, in the spelling of the rules' list."""
    downs = [f"down{level}" for level in range(levels - 1)]
    ups = [f"up{level}" for level in range(levels - 1)]
    for part in ("input", *downs, *ups):
        if part in ups:
            yield f"{part}_deconv"
        for block in (0, 1):
            yield from (f"{part}_block_{block}_{kind}" for kind in ("conv", "instancenorm"))
    yield "output_conv"


def smoke() -> UNet3D:
    """One level of halving on patches of 4 x 4 x 4, so that 1000 epochs take less than a minute."""
    return UNet3D(
        filters=(8, 16),
        volume_size=10,
        # Rules fix 168 volumes and the first evaluation at epoch 1000: these sizes take seconds
        training_input_shape=(4, 4, 4),
        validation_input_shape=(4, 4, 4),
        global_batch_size=CASES,
        train_samples=CASES,
        eval_samples=42,
        target=0.908,
        last_step=1700,
        opt_base_learning_rate=0.066,
        # A slow rise, so that the target is reached after the first evaluation, not before it
        opt_learning_rate_warmup_epochs=1600,
    )


POINT = ReferencePoint("training", "4.0", "unet3d", "unet3d_ref_28")


def reference() -> UNet3D:
    """KiTS19 with the settings of the convergence point of 4.0 at a batch of 28."""
    point = POINT.settings()
    batch = point["global_batch_size"]
    return UNet3D(
        filters=(32, 64, 128, 256, 320, 320),
        training_input_shape=(128, 128, 128),
        validation_input_shape=(128, 128, 128),
        global_batch_size=batch,
        gradient_accumulation_steps=7,
        train_samples=CASES,
        eval_samples=42,
        target=0.908,
        # The policy's limit: 10 000 passes over 168 volumes
        last_step=10_000 * CASES // batch,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_initial_learning_rate=point["opt_initial_learning_rate"],
        # The point counts samples under this name, like logs from 3.1 on
        opt_learning_rate_warmup_epochs=point["opt_learning_rate_warmup_epochs"] // CASES,
        opt_momentum=point["opt_momentum"],
        opt_weight_decay=point["opt_weight_decay"],
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="unet3d",
        title="Medical image segmentation: 3D U-Net on KiTS19",
        smoke=smoke,
        reference=reference,
        point=POINT,
        axes=("dp", "sp"),
        rounds=("1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0"),
        data=(
            "case_00000_x.npy and case_00000_y.npy to case_00209_y.npy, resampled and normalized,"
            " and evaluation_cases.txt with a case number on each line"
        ),
    ),
)
