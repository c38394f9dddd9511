"""CosmoFlow: volumes, filters and schedule at both scales.

Source of the reference figures: the HPC policy's section on hyperparameters, and the convergence
points of HPC 3.0 at a batch of 64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from podium.reference_runs.parallel.mesh import Mesh


@dataclass(frozen=True, kw_only=True)
class CosmoFlow(Config):
    """Training of a regressor. A sample is a volume."""

    name: ClassVar[str] = "cosmoflow"
    unit: ClassVar[Unit] = Unit.EPOCHS
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    metric: ClassVar[str] = "mean absolute error"
    logs_error: ClassVar[bool] = True

    # model
    size: int
    """Edge of a volume, in voxels."""
    channels: int = 4
    """Number of redshifts; a sample has a volume for each."""
    filters: tuple[int, ...]
    dense_widths: tuple[int, int]
    parameters: int = 4
    dropout: float

    # optimizer
    opt_name: str = "sgd"
    sgd_opt_momentum: float = 0.9
    opt_base_learning_rate: float
    opt_weight_decay: float = 0.0
    opt_learning_rate_warmup_epochs: int
    opt_learning_rate_warmup_factor: float
    """The rate at the end of the warmup, as a multiple of the base rate."""
    opt_learning_rate_decay_boundary_epochs: tuple[int, int]
    opt_learning_rate_decay_factor: tuple[float, float]
    """Multiples of the rate after the warmup, from each boundary on."""

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if a rank along `sp` would have no plane for the last convolution."""
        planes = self.size // 2 ** (len(self.filters) - 1)
        if mesh.sp > planes:
            raise RunFault(
                f"--mesh: sp is {mesh.sp}; expected at most {planes}, the planes of the last"
                f" convolution on volumes of {self.size}"
            )


def smoke() -> CosmoFlow:
    """Random fields with four recognizable parameters; about 20 s on one core."""
    return CosmoFlow(
        size=16,
        filters=(8, 16, 32),
        dense_widths=(64, 32),
        dropout=0.0,
        global_batch_size=32,
        train_samples=1024,
        eval_samples=256,
        target=0.124,
        last_step=32 * 24,
        opt_base_learning_rate=0.012,
        opt_learning_rate_warmup_epochs=1,
        opt_learning_rate_warmup_factor=1.0,
        opt_learning_rate_decay_boundary_epochs=(10, 14),
        opt_learning_rate_decay_factor=(0.25, 0.125),
    )


POINT = ReferencePoint("hpc", "3.0", "cosmoflow", "cosmoflow_ref_64")


def reference() -> CosmoFlow:
    """The benchmark with the settings of the convergence point of HPC 3.0 at a batch of 64."""
    point = POINT.settings()
    falls = point["opt_learning_rate_decay_factor"]
    return CosmoFlow(
        size=128,
        filters=(32, 64, 128, 256, 512),
        dense_widths=(128, 64),
        dropout=point["dropout"],
        global_batch_size=point["global_batch_size"],
        gradient_accumulation_steps=8,
        train_samples=524_288,
        eval_samples=65_536,
        target=0.124,
        last_step=8192 * 128,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_weight_decay=point["opt_weight_decay"],
        opt_learning_rate_warmup_epochs=point["opt_learning_rate_warmup_epochs"],
        opt_learning_rate_warmup_factor=point["opt_learning_rate_warmup_factor"],
        opt_learning_rate_decay_boundary_epochs=tuple(
            point["opt_learning_rate_decay_boundary_epochs"]
        ),
        # The point has only the first factor; the policy's second factor is half of it
        opt_learning_rate_decay_factor=(falls, falls / 2),
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="cosmoflow",
        title="Cosmology: CosmoFlow on N-body volumes",
        smoke=smoke,
        reference=reference,
        axes=("dp", "sp"),
        rounds=("0.7", "1.0", "2.0", "3.0"),
        point=POINT,
        usage="hpc",
        data="train/*.tfrecord and validation/*.tfrecord, a volume x and parameters y in each",
    ),
)
