"""DeepSeek-V3 671B: shape, balance of the experts, schedule and evaluation steps at both scales.

Source of the reference figures: the DeepSeek-V3 technical report (2024) and the configuration
published with its weights, the benchmark's README and scripts, and its reference convergence points
of 6.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.language.config import RotaryPretrainingConfig


@dataclass(frozen=True, kw_only=True)
class DeepSeekV3(RotaryPretrainingConfig):
    """Continued pretraining of a DeepSeek-V3 decoder.

    `ffn_width` is that of the first, dense layers. `kv_heads` equals `heads`: keys and values share
    a latent vector instead.
    """

    name: ClassVar[str] = "deepseekv3_671b"

    rope_theta: float = 10_000.0
    rope_scaling: float = 40.0
    rope_original_length: int = 4096
    query_rank: int
    """Width of the latent vector that queries are projected from."""
    kv_rank: int
    """Width of the latent vector that keys and values are projected from."""
    nope_width: int
    """Channels of a query and a key without positions."""
    rope_width: int
    """Channels with rotary positions; those of the key are shared by all heads."""
    value_width: int
    dense_layers: int
    """Number of initial layers without experts."""
    experts: int
    active_experts: int
    """Routed experts per token, in addition to the shared one."""
    expert_width: int
    """Inner width of each expert, including the shared one."""
    expert_groups: int
    active_groups: int
    """Maximum number of groups that the experts of one token may be in."""
    routed_scale: float = 2.5
    """Scale of the routed experts' output."""
    correction_rate: float = 1e-3
    """Change of an expert's bias after each step, against its load."""
    moe_aux_loss_coeff: float = 0.01
    """Weight of the loss that balances experts within a sequence."""
    ahead_weight: float = 0.1
    """Weight of the loss for the token after the next."""
    initial_deviation: float = 0.02
    opt_adamw_epsilon: float = 1e-8
    max_steps: int

    @property
    def shape(self) -> tuple[object, ...]:
        """The fields that determine the weights' shapes, except the vocabulary, and the base."""
        latent = (self.query_rank, self.kv_rank, self.nope_width, self.rope_width)
        experts = (self.experts, self.active_experts, self.expert_groups, self.active_groups)
        widths = (self.value_width, self.dense_layers, self.expert_width, self.routed_scale)
        balance = (self.correction_rate, self.moe_aux_loss_coeff, self.ahead_weight)
        return (self.name, *super().shape, *latent, *experts, *widths, *balance)


def smoke() -> DeepSeekV3:
    """Three small layers, one of them dense, started from a base with other token ids."""
    return DeepSeekV3(
        layers=3,
        width=48,
        heads=4,
        kv_heads=4,
        ffn_width=96,
        query_rank=32,
        kv_rank=24,
        nope_width=16,
        rope_width=8,
        value_width=16,
        dense_layers=1,
        experts=8,
        active_experts=2,
        expert_width=32,
        expert_groups=4,
        active_groups=2,
        vocabulary=128,
        max_sequence_length=64,
        global_batch_size=32,
        train_samples=16_384,
        eval_samples=64,
        evaluation_interval=32,
        skipped_evaluations=11,
        target=0.72,
        last_step=160,
        opt_base_learning_rate=6e-3,
        opt_end_learning_rate=6e-4,
        opt_learning_rate_warmup_steps=4,
        opt_learning_rate_decay_steps=160 - 4,
        max_steps=160,
    )


POINT = ReferencePoint("training", "6.1", "deepseekv3_671b", "deepseekv3_671b_ref_16384")


def reference() -> DeepSeekV3:
    """The benchmark with the settings of the convergence points of 6.1, at a batch of 16 384."""
    point = POINT.settings()
    batch = point["global_batch_size"]
    return DeepSeekV3(
        layers=61,
        width=7168,
        heads=128,
        kv_heads=128,
        ffn_width=18_432,
        query_rank=1536,
        kv_rank=512,
        nope_width=128,
        rope_width=64,
        value_width=128,
        dense_layers=3,
        experts=256,
        active_experts=8,
        expert_width=2048,
        expert_groups=8,
        active_groups=4,
        initial_deviation=0.006,
        # The vocabulary of the initial weights: the tokenizer has fewer words, 128 256
        vocabulary=129_280,
        max_sequence_length=4096,
        global_batch_size=batch,
        gradient_accumulation_steps=batch,
        recompute=True,
        train_samples=batch,
        eval_samples=1024,
        evaluation_interval=batch,
        # The evaluation steps of 6.1; in 6.0 every step is evaluated
        skipped_evaluations=math.floor(42 + 24_576 / batch) - 1,
        target=3.6,
        last_step=12_000,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_end_learning_rate=1e-8,
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        opt_learning_rate_decay_steps=point["opt_learning_rate_decay_steps"],
        max_steps=12_000,
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="deepseekv3_671b",
        title="Mixture-of-experts pretraining: DeepSeek-V3 671B on C4",
        smoke=smoke,
        reference=reference,
        data="train.bin and validation.bin, token ids as unsigned 32-bit integers",
        rounds=("6.0", "6.1"),
        point=POINT,
        division="open",
        axes=("dp", "fsdp", "ep"),
    ),
)
