"""DLRM-DCNv2: table sizes, widths and optimizer at both scales.

Source of the reference figures: the policy's benchmark table and hyperparameter section of rounds
3.0 to 6.0, and the reference's published tables (rows, and ids per sample of each).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Unit
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.click_config import ClickConfig

# Of Criteo's 26 categorical features; the largest are hashed to 40 million rows
ROWS = (
    *(40_000_000, 39_060, 17_295, 7_424, 20_265, 3, 7_122, 1_543, 63, 40_000_000, 3_067_956),
    *(405_282, 10, 2_209, 11_938, 155, 4, 976, 14, 40_000_000, 40_000_000, 40_000_000),
    *(590_152, 12_973, 108, 36),
)
IDS = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)


@dataclass(frozen=True, kw_only=True)
class DlrmDcnv2(ClickConfig):
    """Training on click logs: dense features, and bags of ids of categorical ones."""

    name: ClassVar[str] = "dlrm_dcnv2"
    unit: ClassVar[Unit] = Unit.FRACTIONS

    cross_layers: int = 3
    cross_rank: int

    # optimizer
    opt_name: str = "adagrad"
    opt_base_learning_rate: float
    # The closed rules fix all of these: Adagrad with neither warmup nor decay
    opt_adagrad_learning_rate_decay: float = 0.0
    opt_adagrad_initial_accumulator_value: float = 0.0
    opt_adagrad_epsilon: float = 1e-8
    opt_weight_decay: float = 0.0
    opt_learning_rate_warmup_steps: int = 0
    opt_learning_rate_decay_start_step: int = 0
    opt_learning_rate_decay_steps: int = 0


def smoke() -> DlrmDcnv2:
    """Eight tables of at most 1000 rows and half a million clicks; about 10 s on one core."""
    samples, batch = 500_000, 512
    return DlrmDcnv2(
        rows=(1000, 500, 300, 200, 100, 50, 20, 3),
        ids=IDS[:8],
        width=16,
        bottom_widths=(32, 16),
        cross_rank=16,
        top_widths=(64, 32, 1),
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=20_000,
        target=0.80275,
        last_step=samples // batch,
        opt_base_learning_rate=0.02,
    )


POINT = ReferencePoint("training", "6.0", "dlrm_dcnv2", "dlrm_dcnv2_ref_65536")


def reference() -> DlrmDcnv2:
    """Criteo's terabyte with the settings of the convergence points of 6.0, batch 65536."""
    point = POINT.settings()
    samples, batch = 4_195_197_692, point["global_batch_size"]
    return DlrmDcnv2(
        rows=ROWS,
        ids=IDS,
        width=128,
        bottom_widths=(512, 256, 128),
        cross_rank=512,
        top_widths=(1024, 1024, 512, 256, 1),
        sparse_gradients=True,
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=89_137_319,
        target=0.80275,
        last_step=samples // batch,
        # The convergence points' rate; the reference's own default is 0.005
        opt_base_learning_rate=point["opt_base_learning_rate"],
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="dlrm_dcnv2",
        title="Recommendation: DLRM with DCNv2 on Criteo multi-hot",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("3.0", "3.1", "4.0", "4.1", "5.0", "5.1", "6.0"),
        data="day_0 to day_23 of Criteo, each _dense.npy, _labels.npy and _sparse_multi_hot.npz",
        division="open",
        axes=("fsdp",),
    ),
)
