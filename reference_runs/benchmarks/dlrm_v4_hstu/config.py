"""DLRMv4: tables, HSTU layers, the stream of days and optimizers at both scales.

Source of the reference figures: the rules of 6.1, and the benchmark's published reference (table
rows, crosses of features, widths, history, days); a reference convergence point for the rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CROSSES = (
    ("user", "artist"),
    ("user", "album"),
    ("user", "hour"),
    ("item", "hour"),
    ("artist", "hour"),
    ("user", "organic"),
    ("user", "artist", "hour"),
)
"""Features that are hashed together; each cross has a table. `organic` means that the listener, not
a recommender, chose the track."""
CONTEXTS = 1 + len(CROSSES)
"""The contexts before the history: the user, and the crosses with the candidate."""
POOLS = 3
"""Kinds of events in a history: tracks heard for at least half, liked, skipped."""


@dataclass(frozen=True, kw_only=True)
class DlrmV4(Config):
    """Training on a stream of plays. A sample is a play with its history."""

    name: ClassVar[str] = "dlrm_v4_hstu"
    sends_activations: ClassVar[bool] = False
    unit: ClassVar[Unit] = Unit.SAMPLES
    metric: ClassVar[str] = "area under the ROC curve"

    # stream
    days: int
    """Days of training, in order."""
    evaluates_next_day: bool
    """Whether each evaluation uses the day after the last training day; otherwise all use the day
    after the stream."""
    history_length: int
    """Maximum events before a play, a third of each kind."""
    max_sequence_length: int

    # model
    rows: tuple[int, int, int, int]
    """Rows of the tables of items, artists, albums and users."""
    cross_rows: tuple[int, ...]
    table_width: int
    width: int
    hidden_width: int
    """Inner width of the MLPs for embeddings."""
    head_hidden_width: int
    """Inner width of the MLPs for the candidate and for the log odds."""
    heads: int
    head_width: int
    hstu_attn_num_layers: int
    position_buckets: int = 8192
    time_buckets: int = 2048
    input_dropout: float
    linear_dropout: float
    sparse_gradients: bool = False
    """Whether the gradient of a table contains only the rows that the step used."""
    recompute: bool = False
    """Whether layers recompute their activations for the backward pass."""

    # optimizers
    opt_name: str = "Adam"
    opt_base_learning_rate: float
    opt_adam_beta_1: float = 0.95
    opt_adam_beta_2: float = 0.999
    opt_adam_epsilon: float = 1e-8
    opt_weight_decay: float = 0.0
    opt_gradient_clip_norm: float = 1.0
    """Gradient norm limit of all parameters except the tables."""
    opt_sparse_name: str = "RowWiseAdagrad"
    opt_learning_rate_warmup_steps: int
    opt_learning_rate_warmup_start_lr: float = 0.0

    # evaluation
    eval_every_data_pct: float
    """Share of the training samples between evaluations."""
    skips_evaluations: bool
    """Whether the first evaluation follows the rules' formula."""

    def benchmark_in(self, round_name: str) -> str:
        """The name in the rules."""
        return "dlrmv4"

    @property
    def events(self) -> int:
        """Positions of a sequence after the contexts: the longest history and the candidate."""
        return POOLS * (self.history_length // POOLS) + 1

    def records(self, round_name: str) -> Mapping[str, Any]:
        """Both optimizers have the same rate."""
        rate = {"opt_sparse_base_learning_rate": self.opt_base_learning_rate}
        return {**super().records(round_name), **rate}

    def evaluation_steps(self) -> Iterator[int]:
        """After each share of the samples, in whole batches; the first ones may be skipped.

        The formula for the first one is the verifier's for 6.1.
        """
        batch = self.global_batch_size
        interval = max(1, math.ceil(self.eval_every_data_pct * self.train_samples / batch))
        begin = (4480 * batch + 135_331_840) // 3 if self.skips_evaluations else 1
        first = math.ceil(begin / (interval * batch)) * interval
        yield from range(first, min(self.last_step, self.steps_per_epoch) + 1, interval)


DAYS, PLAYS = 20, 2048


def smoke() -> DlrmV4:
    """1024 listeners and 24 tracks; about 10 s on one core."""
    samples, batch = DAYS * PLAYS, 64
    return DlrmV4(
        days=DAYS,
        evaluates_next_day=True,
        history_length=15,
        max_sequence_length=24,
        rows=(24, 6, 6, 1024),
        cross_rows=(512,) * len(CROSSES),
        table_width=32,
        width=32,
        hidden_width=32,
        head_hidden_width=32,
        heads=2,
        head_width=16,
        hstu_attn_num_layers=2,
        input_dropout=0.0,
        linear_dropout=0.0,
        global_batch_size=batch,
        train_samples=samples,
        eval_samples=PLAYS,
        target=0.8,
        last_step=samples // batch,
        opt_base_learning_rate=4e-3,
        opt_learning_rate_warmup_steps=32,
        eval_every_data_pct=1 / (2 * DAYS),
        skips_evaluations=False,
    )


POINT = ReferencePoint("training", "6.1", "dlrmv4", "dlrmv4_ref_8192")


def reference() -> DlrmV4:
    """Yambda-5B with the settings of the convergence points of 6.1, batch 8192."""
    point = POINT.settings()
    samples, batch = 2_290_835_423, point["global_batch_size"]
    return DlrmV4(
        days=299,
        evaluates_next_day=False,
        history_length=4086,
        max_sequence_length=4096,
        rows=(9_390_624, 1_293_395, 3_367_692, 1_000_001),
        cross_rows=(
            *(100_000_000, 40_000_000, 24_000_000, 40_000_000, 32_000_000, 2_000_000, 40_000_000),
        ),
        table_width=512,
        width=512,
        hidden_width=256,
        head_hidden_width=512,
        heads=4,
        head_width=128,
        hstu_attn_num_layers=3,
        input_dropout=0.2,
        linear_dropout=0.1,
        sparse_gradients=True,
        recompute=True,
        global_batch_size=batch,
        gradient_accumulation_steps=point["gradient_accumulation_steps"],
        train_samples=samples,
        eval_samples=2_058_204,
        target=0.75,
        last_step=samples // batch,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        eval_every_data_pct=0.001,
        skips_evaluations=True,
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="dlrm_v4_hstu",
        title="Recommendation: DLRMv4, HSTU on Yambda-5B",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("6.1",),
        data="processed_5b/hstu_cache_L4086 and shared_metadata, as MLCommons publishes them",
        division="open",
        axes=("fsdp",),
    ),
)
