"""Qwen3.5 397B with GRPO: shape, sampling, update and evaluation steps at both scales.

Source of the reference figures: the published model's configuration, and the benchmark's
reference convergence points and rules of 6.1 (see the README).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, kw_only=True)
class Qwen35(Config):
    """Training with GRPO. A sample in the log is a rollout: one answer to a prompt.

    `train_samples` and `eval_samples` are numbers of prompts, as in the rules.
    """

    name: ClassVar[str] = "qwen35_397b_grpo"
    unit: ClassVar[Unit] = Unit.SAMPLES
    metric: ClassVar[str] = "pass@4"
    evaluated_offline: ClassVar[bool] = True

    # model
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    turning_width: int
    """Channels of an attention head with rotary positions; the others have none."""
    key_heads: int
    value_heads: int
    delta_head_width: int
    """Head width of the keys and values of the delta rule."""
    experts: int
    active_experts: int
    ffn_width: int
    """Inner width of each expert, including the shared one."""
    vocabulary: int
    rope_theta: float = 10_000_000.0
    initial_deviation: float = 0.02
    recompute: bool = False

    # rollouts
    max_sequence_length: int
    """Maximum tokens of prompt and answer together; a truncated answer fails."""
    num_prompts_per_step: int
    num_generations_per_prompt: int = 16
    generation_training_rollout_temperature: float = 1.0
    generation_training_rollout_top_p: float = 1.0
    generation_validation_rollout_temperature: float = 0.1
    generation_validation_rollout_top_p: float = 0.95

    # update
    ratio_clip_low: float = 0.2
    ratio_clip_high: float = 0.28
    """Range of a token's probability ratio with a gradient, below and above 1."""
    sequence_ratio_low: float = 0.999
    sequence_ratio_high: float = 1.002
    """Range of the ratio between the trainer's and the generator's probability of a rollout with a
    gradient, as the geometric mean over its tokens."""
    most_probability_error: float = 2.0
    """Maximum factor between their probabilities of a rollout's tokens; beyond it excluded."""
    opt_name: str = "adamw"
    opt_base_learning_rate: float
    opt_adamw_beta_1: float = 0.9
    opt_adamw_beta_2: float = 0.999
    opt_adamw_epsilon: float = 1e-8
    opt_adamw_weight_decay: float = 0.0
    opt_gradient_clip_norm: float
    opt_learning_rate_warmup_steps: int = 0
    opt_learning_rate_decay_schedule: str = "constant"
    init_checkpoint_step: int = 0
    max_steps: int

    @property
    def epoch_samples(self) -> int:
        """Rollouts of one pass over the prompts."""
        return self.train_samples * self.num_generations_per_prompt

    def evaluation_steps(self) -> Iterator[int]:
        """Every step, once 3840 rollouts and two and a half steps are done."""
        first = math.ceil(2.5 + 3840 / self.global_batch_size)
        yield from range(first, self.last_step + 1)


def smoke() -> Qwen35:
    """Sums of three-digit numbers, with the four layers that the large model repeats."""
    return Qwen35(
        layers=4,
        width=32,
        heads=2,
        kv_heads=1,
        head_width=32,
        turning_width=8,
        key_heads=2,
        value_heads=4,
        delta_head_width=16,
        experts=8,
        active_experts=2,
        ffn_width=32,
        vocabulary=7,
        initial_deviation=0.1,
        max_sequence_length=16,
        global_batch_size=256,
        num_prompts_per_step=16,
        train_samples=685,
        eval_samples=251,
        # The rules require more than 0.69, which is not a multiple of 1/251
        target=0.69,
        last_step=80,
        max_steps=80,
        opt_base_learning_rate=7.0e-5,
        opt_gradient_clip_norm=0.125,
    )


POINT = ReferencePoint("training", "6.1", "qwen35_397b_grpo", "qwen35_397b_grpo_ref_256")


def reference() -> Qwen35:
    """The benchmark with the settings of the convergence points of 6.1, at a batch of 256."""
    point = POINT.settings()
    return Qwen35(
        layers=60,
        width=4096,
        heads=32,
        kv_heads=2,
        head_width=256,
        turning_width=64,
        key_heads=16,
        value_heads=64,
        delta_head_width=128,
        experts=512,
        active_experts=10,
        ffn_width=1024,
        vocabulary=248_320,
        recompute=True,
        max_sequence_length=65_536,
        global_batch_size=point["global_batch_size"],
        gradient_accumulation_steps=point["gradient_accumulation_steps"],
        num_prompts_per_step=point["num_prompts_per_step"],
        num_generations_per_prompt=point["num_generations_per_prompt"],
        train_samples=685,
        eval_samples=251,
        target=0.69,
        last_step=30,
        max_steps=30,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_gradient_clip_norm=point["opt_gradient_clip_norm"],
    )


BENCHMARKS = (
    Benchmark(
        name="qwen35_397b_grpo",
        title="Language model reinforcement learning: Qwen3.5 397B with GRPO",
        smoke=smoke,
        reference=reference,
        data="an environment of R2E-Gym's tasks, which podium does not bundle",
        rounds=("6.1",),
        point=POINT,
        division="open",
        axes=("dp", "fsdp", "ep"),
    ),
)
