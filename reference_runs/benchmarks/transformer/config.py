"""The Transformer: widths, schedule and beam at both scales.

Source of the reference figures: Vaswani et al., Attention Is All You Need (2017), its "big" model;
the benchmark's vocabulary of 33 708 sub-words; batch, rate and betas of published results of 0.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.modeling.translation_config import TranslationConfig


@dataclass(frozen=True, kw_only=True)
class Transformer(TranslationConfig):
    """Training of a Transformer."""

    name: ClassVar[str] = "transformer"

    # model
    heads: int
    ffn_width: int

    # optimizer
    opt_name: str = "adam"
    opt_base_learning_rate: float
    opt_learning_rate_warmup_steps: int
    opt_adam_beta_1: float
    opt_adam_beta_2: float
    opt_adam_epsilon: float = 1e-9

    # evaluation
    beams: int = 4
    extra_length: int = 50


def smoke() -> Transformer:
    """A toy language with final verbs and adjectives after nouns; about 10 s on one core."""
    return Transformer(
        layers=2,
        width=64,
        heads=4,
        ffn_width=256,
        vocabulary=128,
        dropout=0.0,
        max_sequence_length=16,
        global_batch_size=64,
        train_samples=1024,
        eval_samples=200,
        target=0.25,
        last_step=16 * 30,
        opt_base_learning_rate=0.25,
        opt_learning_rate_warmup_steps=200,
        opt_adam_beta_1=0.9,
        opt_adam_beta_2=0.98,
        extra_length=8,
    )


def reference() -> Transformer:
    """The big model with the batch and rate of published results of round 0.7."""
    return Transformer(
        layers=6,
        width=1024,
        heads=16,
        ffn_width=4096,
        vocabulary=33_708,
        dropout=0.1,
        max_sequence_length=80,
        global_batch_size=2048,
        gradient_accumulation_steps=32,
        train_samples=4_590_101,
        eval_samples=3003,
        target=0.25,
        last_step=2241 * 20,
        opt_base_learning_rate=1.875,
        opt_learning_rate_warmup_steps=831,
        opt_adam_beta_1=0.88,
        opt_adam_beta_2=0.92,
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="transformer",
        title="Translation: Transformer big on WMT17 English-German",
        smoke=smoke,
        reference=reference,
        rounds=("0.7",),
        data="vocabulary.txt, train.en, train.de, newstest2014.en and newstest2014.de",
    ),
)
