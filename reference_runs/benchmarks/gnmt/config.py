"""GNMT: shape, schedule and beam search at both scales.

Source of the reference figures: Wu et al., "Google's Neural Machine Translation System", 2016; the
policy's benchmark table and hyperparameter section of round 0.7; published results of that round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.modeling.translation_config import TranslationConfig


@dataclass(frozen=True, kw_only=True)
class Gnmt(TranslationConfig):
    """Training of a recurrent translation model."""

    name: ClassVar[str] = "gnmt"
    samples_are_least: ClassVar[bool] = True

    initial_bound: float = 0.1
    """Bound of the uniform initial weights."""

    opt_name: str = "adam"
    opt_base_learning_rate: float
    opt_adam_beta_1: float = 0.9
    opt_adam_beta_2: float = 0.999
    opt_adam_epsilon: float = 1e-8
    opt_gradient_clip_norm: float = 5.0
    opt_learning_rate_warmup_steps: int
    opt_learning_rate_remain_steps: int
    """The step from which the rate decreases."""
    opt_learning_rate_decay_interval: int
    opt_learning_rate_decay_factor: float = 0.5
    opt_learning_rate_decay_steps: int = 4
    """Number of decays of the rate."""
    opt_learning_rate_alt_decay_func: bool = True
    opt_learning_rate_alt_warmup_func: bool = True

    beams: int = 5
    extra_length: int
    coverage_penalty: float = 0.1
    """Weight of the penalty for source words that a translation has not attended to."""


def smoke() -> Gnmt:
    """The toy languages of `transformer`, with three layers; about 20 s on one core."""
    return Gnmt(
        layers=3,
        width=96,
        # 126 words and the special tokens
        vocabulary=130,
        dropout=0.0,
        # Products have the variance that those of the full width have with 0.1
        initial_bound=0.3,
        max_sequence_length=16,
        global_batch_size=64,
        train_samples=6144,
        eval_samples=200,
        target=0.24,
        last_step=96 * 14,
        opt_base_learning_rate=2.5e-3,
        opt_learning_rate_warmup_steps=48,
        opt_learning_rate_remain_steps=96 * 10,
        opt_learning_rate_decay_interval=48,
        extra_length=8,
    )


def reference() -> Gnmt:
    """The batch and the schedule of published results of round 0.7."""
    return Gnmt(
        layers=4,
        width=1024,
        # 32 313 pieces, and the special tokens for padding, end, begin and unknown pieces
        vocabulary=32_317,
        dropout=0.2,
        max_sequence_length=75,
        global_batch_size=3072,
        gradient_accumulation_steps=24,
        # Whole batches of the pairs within the length limit
        train_samples=3_965_952,
        eval_samples=3003,
        target=0.24,
        last_step=1291 * 8,
        opt_base_learning_rate=0.002875,
        opt_learning_rate_warmup_steps=200,
        opt_learning_rate_remain_steps=4054,
        opt_learning_rate_decay_interval=506,
        extra_length=75,
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="gnmt",
        title="Recurrent translation: GNMT on WMT16 English-German",
        smoke=smoke,
        reference=reference,
        rounds=("0.7",),
        data="vocab.bpe.32000, train.tok.clean.bpe.32000.en and .de, and newstest2014's",
    ),
)
