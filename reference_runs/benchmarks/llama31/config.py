"""Llama 3.1 8B and 405B: shapes, schedules and evaluation steps at both scales.

Source of the reference figures: the policy's benchmark table and its hyperparameter section of
rounds 5.0 to 6.1; the models' published configurations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.language.config import RotaryPretrainingConfig


@dataclass(frozen=True, kw_only=True)
class Llama31Small(RotaryPretrainingConfig):
    """The 8B benchmark, from random weights."""

    name: ClassVar[str] = "llama31_8b"
    max_steps: int


@dataclass(frozen=True, kw_only=True)
class Llama31Large(RotaryPretrainingConfig):
    """The 405B benchmark, which continues from a trained checkpoint."""

    name: ClassVar[str] = "llama31_405b"
    init_checkpoint_step: int = 0


def smoke_8b() -> Llama31Small:
    """A quarter of a million parameters on a synthetic corpus; about 20 s on one core."""
    return Llama31Small(
        layers=2,
        width=96,
        heads=4,
        kv_heads=2,
        ffn_width=256,
        vocabulary=128,
        max_sequence_length=64,
        global_batch_size=16,
        train_samples=65_536,
        eval_samples=128,
        evaluation_interval=768,
        target=0.68,
        last_step=768,
        opt_base_learning_rate=4e-3,
        opt_end_learning_rate=4e-4,
        opt_learning_rate_warmup_steps=16,
        opt_learning_rate_decay_steps=768 - 16,
        max_steps=768,
    )


FEWEST_8B, FEWEST_405B = 12_288, 18_432
"""Minimum number of training sequences under the rules: those before the first evaluation.

The shards of C4 have some millions; published logs have the constant 1 574 207 408 instead."""

POINT_8B = ReferencePoint("training", "6.1", "llama31_8b", "llama31_8b_ref_32")


def reference_8b() -> Llama31Small:
    """The benchmark with the settings of the convergence points of 6.1, at a batch of 32."""
    point = POINT_8B.settings()
    batch, rate = point["global_batch_size"], point["opt_base_learning_rate"]
    warmup = point["opt_learning_rate_warmup_samples"] // batch
    return Llama31Small(
        layers=32,
        width=4096,
        heads=32,
        kv_heads=8,
        ffn_width=14_336,
        vocabulary=128_256,
        max_sequence_length=8192,
        global_batch_size=batch,
        gradient_accumulation_steps=batch,
        recompute=True,
        train_samples=FEWEST_8B,
        eval_samples=1024,
        evaluation_interval=FEWEST_8B,
        target=3.3,
        last_step=1_200_000,
        opt_base_learning_rate=rate,
        # A tenth of the base rate, according to the policy; the official verifier accepts any value
        opt_end_learning_rate=rate * 0.1,
        opt_learning_rate_warmup_steps=warmup,
        opt_learning_rate_decay_steps=1_200_000 - warmup,
        max_steps=1_200_000,
        workers=2,
    )


def smoke_405b() -> Llama31Large:
    """The 8B smoke model, started from a base that was trained on another corpus."""
    return Llama31Large(
        layers=2,
        width=96,
        heads=4,
        kv_heads=2,
        ffn_width=256,
        vocabulary=128,
        max_sequence_length=64,
        global_batch_size=16,
        train_samples=65_536,
        eval_samples=128,
        evaluation_interval=512,
        skipped_evaluations=2,
        target=0.58,
        last_step=768,
        opt_base_learning_rate=4e-3,
        opt_end_learning_rate=4e-4,
        opt_learning_rate_warmup_steps=16,
        opt_learning_rate_decay_steps=768 - 16,
    )


POINT_405B = ReferencePoint("training", "6.0", "llama31_405b", "llama31_405b_ref_1152")


def reference_405b() -> Llama31Large:
    """The benchmark with the settings of the convergence points of 6.0, batch 1152."""
    point = POINT_405B.settings()
    batch, warmup = point["global_batch_size"], point["opt_learning_rate_warmup_steps"]
    return Llama31Large(
        layers=126,
        width=16_384,
        heads=128,
        kv_heads=8,
        ffn_width=53_248,
        vocabulary=32_000,
        max_sequence_length=8192,
        global_batch_size=batch,
        gradient_accumulation_steps=batch,
        recompute=True,
        train_samples=FEWEST_405B,
        eval_samples=5760,
        evaluation_interval=FEWEST_405B,
        # The policy's formula from 5.1 on
        skipped_evaluations=math.floor(0.0026 * batch + 12),
        target=5.6,
        last_step=1_200_000,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        # Fixed by the policy; the official verifier accepts any value
        opt_end_learning_rate=8e-7,
        opt_learning_rate_warmup_steps=warmup,
        opt_learning_rate_decay_steps=1_200_000 - warmup,
        workers=2,
    )


# Open, since closed rules fix lengths and counts of the full problem
BENCHMARKS = (
    Benchmark(
        name="llama31_8b",
        title="Large language model pretraining: Llama 3.1 8B on C4",
        smoke=smoke_8b,
        reference=reference_8b,
        data="train.bin and validation.bin, token ids as unsigned 32-bit integers",
        rounds=("5.1", "6.0", "6.1"),
        point=POINT_8B,
        division="open",
        axes=("pp", "dp", "fsdp", "cp", "tp"),
    ),
    Benchmark(
        name="llama31_405b",
        title="Large language model pretraining: Llama 3.1 405B on C4",
        smoke=smoke_405b,
        reference=reference_405b,
        data="train.bin and validation.bin, token ids as unsigned 32-bit integers",
        rounds=("5.0", "5.1", "6.0"),
        point=POINT_405B,
        division="open",
        axes=("pp", "dp", "fsdp", "cp", "tp"),
    ),
)
