"""Llama 2 70B with LoRA: shape, adapters, schedule and evaluation steps at both scales.

Source of the reference figures: the policy's benchmark table and hyperparameter section of rounds
4.0 to 6.1; the model's published configuration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.language.config import RotaryConfig


@dataclass(frozen=True, kw_only=True)
class Llama2Lora(RotaryConfig):
    """Fine-tuning of a Llama 2 model through low-rank adapters."""

    name: ClassVar[str] = "llama2_70b_lora"
    metric: ClassVar[str] = "evaluation loss"

    # Compared by the closed rules, so the small model has the real rank, too
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.1

    opt_name: str = "adamw"
    opt_base_learning_rate: float
    opt_learning_rate_warmup_steps: int = 0
    opt_learning_rate_training_steps: int = 1024
    opt_adamw_beta_1: float = 0.9
    opt_adamw_beta_2: float = 0.999
    opt_adamw_epsilon: float = 1e-8
    # Decay and clipping are fixed by the policy, which the official verifier does not check
    opt_adamw_weight_decay: float = 1e-4
    opt_gradient_clip_norm: float = 0.3


def smoke() -> Llama2Lora:
    """A base of a quarter of a million parameters learns a changed language with adapters.

    The numbers of sequences, the rank and the evaluation steps are those of the benchmark.
    """
    return Llama2Lora(
        layers=2,
        width=96,
        heads=4,
        kv_heads=2,
        ffn_width=256,
        vocabulary=128,
        rope_theta=10_000.0,
        rope_scaling=1.0,
        max_sequence_length=64,
        global_batch_size=8,
        train_samples=3901,
        eval_samples=173,
        evaluation_interval=384,
        skipped_evaluations=math.floor(0.125 * 8 + 2),
        target=0.925,
        last_step=1024,
        # At 8e-3 ten runs converge sooner than the reference points of 6.1 allow
        opt_base_learning_rate=1e-2,
    )


POINT = ReferencePoint("training", "6.1", "llama2_70b_lora", "llama2_70b_lora_ref_8")


def reference() -> Llama2Lora:
    """The benchmark with the settings of the convergence points of 6.1, at a batch of 8."""
    point = POINT.settings()
    batch, steps = point["global_batch_size"], point["max_steps"]
    return Llama2Lora(
        layers=80,
        width=8192,
        heads=64,
        kv_heads=8,
        ffn_width=28_672,
        vocabulary=32_000,
        rope_theta=10_000.0,
        rope_scaling=1.0,
        # The policy's text prints 8196
        max_sequence_length=8192,
        lora_rank=point["lora_r"],
        lora_alpha=point["lora_alpha"],
        global_batch_size=batch,
        gradient_accumulation_steps=batch,
        recompute=True,
        train_samples=3901,
        eval_samples=173,
        evaluation_interval=384,
        skipped_evaluations=math.floor(0.125 * batch + 2),
        target=0.925,
        last_step=steps,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_learning_rate_training_steps=steps,
        opt_gradient_clip_norm=point["opt_max_grad_norm"],
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="llama2_70b_lora",
        title="Large language model fine-tuning: Llama 2 70B with LoRA on GovReport",
        smoke=smoke,
        reference=reference,
        data="train.bin and validation.bin (packed token ids, unsigned 32-bit), base.pt (weights)",
        rounds=("4.0", "4.1", "5.0", "5.1", "6.0", "6.1"),
        division="closed",
        axes=("pp", "dp", "fsdp", "cp"),
        point=POINT,
    ),
)
