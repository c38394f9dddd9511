"""DLRM: table sizes, widths and schedule at both scales.

Source of the reference figures: Naumov et al., "Deep Learning Recommendation Model for
Personalization and Recommendation Systems", 2019; the policy's benchmark table and hyperparameter
section of rounds 0.7 to 2.1, and the reference convergence points of 2.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Unit, version
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.click_config import ClickConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_ROWS = 40_000_000
"""Ids of larger features are taken modulo this."""

# Of Criteo's 26 categorical features
ROWS = (
    *(39_884_406, 39_043, 17_289, 7_420, 20_263, 3, 7_120, 1_543, 63, 38_532_951, 2_953_546),
    *(403_346, 10, 2_208, 11_938, 155, 4, 976, 14, 39_979_771, 25_641_295, 39_664_984),
    *(585_935, 12_972, 108, 36),
)
TENSORS = (
    "embeddings",
    *(f"bottom_mlp_dense{layer}" for layer in range(1, 4)),
    *(f"top_mlp_dense{layer}" for layer in range(1, 6)),
)
"""Parts whose initialization closed logs list from round 1.1 on."""


@dataclass(frozen=True, kw_only=True)
class Dlrm(ClickConfig):
    """Training on click logs: dense features, and one id of each categorical one."""

    name: ClassVar[str] = "dlrm"
    unit: ClassVar[Unit] = Unit.FRACTIONS_FROM_ONE

    opt_name: str = "sgd"
    opt_base_learning_rate: float
    opt_learning_rate_warmup_steps: int
    lr_decay_start_steps: int
    sgd_opt_learning_rate_decay_steps: int
    """Steps over which the rate falls to 0."""
    sgd_opt_learning_rate_decay_poly_power: int = 2

    def unit_in(self, round_name: str) -> Unit:
        """Fractions of the epoch, counted from 0 until round 1.0 and from 1 since."""
        return Unit.FRACTIONS if version(round_name) < (1, 1) else self.unit

    def records(self, round_name: str) -> Mapping[str, Any]:
        """The base rate has two names."""
        rate = {"sgd_opt_base_learning_rate": self.opt_base_learning_rate}
        return {**super().records(round_name), **rate}

    def weights(self, round_name: str) -> tuple[str, ...]:
        """The tables, and the layers of both MLPs, in the rounds that require them."""
        return TENSORS if version(round_name) >= (1, 1) else ()


def smoke() -> Dlrm:
    """Eight tables of at most 60 rows and half a million clicks; about 10 s on one core."""
    samples, batch = 500_000, 512
    rows = (60, 40, 30, 20, 20, 10, 10, 3)
    return Dlrm(
        rows=rows,
        ids=(1,) * len(rows),
        width=16,
        bottom_widths=(32, 16),
        top_widths=(64, 32, 1),
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=20_000,
        target=0.8025,
        last_step=samples // batch,
        opt_base_learning_rate=6.0,
        opt_learning_rate_warmup_steps=100,
        lr_decay_start_steps=700,
        sgd_opt_learning_rate_decay_steps=400,
    )


POINT = ReferencePoint("training", "2.1", "dlrm", "dlrm_ref_32768")


def reference() -> Dlrm:
    """Criteo's terabyte with the settings of the convergence points of 2.1, batch 32768."""
    point = POINT.settings()
    samples, batch = 4_195_197_692, point["global_batch_size"]
    return Dlrm(
        rows=ROWS,
        ids=(1,) * len(ROWS),
        width=128,
        bottom_widths=(512, 256, 128),
        top_widths=(1024, 1024, 512, 256, 1),
        sparse_gradients=True,
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=89_137_319,
        target=0.8025,
        last_step=samples // batch,
        opt_base_learning_rate=float(point["opt_base_learning_rate"]),
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        lr_decay_start_steps=point["lr_decay_start_steps"],
        sgd_opt_learning_rate_decay_steps=point["sgd_opt_learning_rate_decay_steps"],
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="dlrm",
        title="Recommendation: DLRM on Criteo",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("0.7", "1.0", "1.1", "2.0", "2.1"),
        data="terabyte_processed_train.bin and terabyte_processed_test.bin, 40 integers a click",
        axes=("fsdp",),
    ),
)
