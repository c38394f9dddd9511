"""BERT: sizes, LAMB and its schedule at both scales.

Source of the reference figures: the policy's benchmark table and hyperparameter section of rounds
0.7 to 5.0, Devlin et al., "BERT", 2018; a reference convergence point for rate and schedule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from podium.reference_runs.benchmarks.bert.published import published_names
from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit, version
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, kw_only=True)
class Bert(Config):
    """Training of BERT's second phase. A sample is a pair of texts with masked words."""

    name: ClassVar[str] = "bert"
    unit: ClassVar[Unit] = Unit.SAMPLES_AS_EPOCHS
    metric: ClassVar[str] = "masked-word accuracy"

    # model
    vocabulary: int
    width: int
    layers: int
    heads: int
    ffn_width: int
    max_sequence_length: int
    max_predictions_per_seq: int
    dropout: float
    recompute: bool = False
    """Whether blocks recompute their activations for the backward pass."""

    # optimizer
    opt_name: str = "lamb"
    opt_base_learning_rate: float
    opt_epsilon: float = 1e-6
    opt_lamb_beta_1: float = 0.9
    opt_lamb_beta_2: float = 0.999
    opt_lamb_weight_decay_rate: float = 0.01
    """Does not apply to norms and biases."""
    opt_gradient_clip_norm: float = 1.0
    """Limit for the norm of all gradients together, averaged over the ranks."""
    opt_learning_rate_training_steps: int
    """The step from which the rate is 0."""
    num_warmup_steps: int
    start_warmup_step: int = 0
    """The first step of the warmup; below 0, training starts in the middle of the warmup."""
    opt_lamb_learning_rate_decay_poly_power: float = 1.0

    # evaluation
    evaluation_interval: int
    """Samples; 0 for the policy's formula of the batch."""

    def records(self, round_name: str) -> Mapping[str, Any]:
        """Some values have two names."""
        also = {
            "opt_lamb_epsilon": self.opt_epsilon,
            "opt_learning_rate_warmup_steps": self.num_warmup_steps,
        }
        return {**super().records(round_name), **also}

    def weights(self, round_name: str) -> tuple[str, ...]:
        """All tensors by their published names, in the rounds that require them."""
        wanted = (1, 1) <= version(round_name) < (3, 0)
        return tuple(published_names(self.layers).values()) if wanted else ()

    def evaluation_steps(self) -> Iterator[int]:
        """After each interval, rounded up to whole batches."""
        batch, interval = self.global_batch_size, self.evaluation_interval
        interval = interval or math.floor(0.05 * (230.23 * batch + 3_000_000) / 25_000) * 25_000
        done = interval
        while (step := math.ceil(done / batch)) <= self.last_step:
            yield step
            done += interval


def smoke() -> Bert:
    """Pairs of sentences of a changed language; about 15 s of one core."""
    return Bert(
        vocabulary=20,
        width=64,
        layers=2,
        heads=4,
        ffn_width=128,
        max_sequence_length=32,
        max_predictions_per_seq=4,
        dropout=0.0,
        global_batch_size=32,
        train_samples=65_536,
        eval_samples=512,
        target=0.72,
        last_step=1600,
        opt_base_learning_rate=1e-2,
        opt_learning_rate_training_steps=1600,
        num_warmup_steps=20,
        evaluation_interval=3200,
    )


POINT = ReferencePoint("training", "5.0", "bert", "bert_ref_256")
SEQUENCES = 156_725_653
"""Number of training files that the reference's scripts write."""


def reference() -> Bert:
    """Wikipedia with the settings of the reference convergence points of 5.0, batch 256."""
    point = POINT.settings()
    return Bert(
        vocabulary=30_522,
        width=1024,
        layers=24,
        heads=16,
        ffn_width=4096,
        max_sequence_length=512,
        max_predictions_per_seq=76,
        dropout=0.1,
        recompute=True,
        global_batch_size=point["global_batch_size"],
        gradient_accumulation_steps=point["gradient_accumulation_steps"],
        train_samples=SEQUENCES,
        eval_samples=10_000,
        target=0.72,
        last_step=point["opt_learning_rate_training_steps"],
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_epsilon=point["opt_epsilon"],
        opt_lamb_beta_1=point["opt_lamb_beta_1"],
        opt_lamb_beta_2=point["opt_lamb_beta_2"],
        opt_lamb_weight_decay_rate=point["opt_lamb_weight_decay_rate"],
        opt_learning_rate_training_steps=point["opt_learning_rate_training_steps"],
        num_warmup_steps=point["num_warmup_steps"],
        start_warmup_step=point["start_warmup_step"],
        evaluation_interval=0,
        workers=4,
    )


BENCHMARKS = (
    Benchmark(
        name="bert",
        title="Language: BERT-large, phase 2 on Wikipedia",
        smoke=smoke,
        reference=reference,
        point=POINT,
        rounds=("0.7", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0"),
        data="train and eval, folders of HDF5 files with masked sequences, and base.pt",
    ),
)
