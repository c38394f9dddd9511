"""GPT-3 175B: shape, schedule and evaluation steps at both scales.

Source of the reference figures: Brown et al., "Language Models are Few-Shot Learners", 2020, table
2.1; the options of the benchmark's script for Megatron-LM; the policy's hyperparameters of rounds
3.0 to 4.1 and the reference convergence points of 4.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Unit
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.language.config import PretrainingConfig


@dataclass(frozen=True, kw_only=True)
class Gpt3(PretrainingConfig):
    """Continued pretraining of a GPT-3 decoder, with separate keys for each head.

    `eval_samples` counts the predicted tokens of an evaluation, as in the reference's logs.
    """

    name: ClassVar[str] = "gpt3"
    reference_note: ClassVar[str] = (
        "Adam's moments start at 0; the reference loads those of its checkpoint, so"
        " convergence is not comparable with reference convergence points"
    )
    unit: ClassVar[Unit] = Unit.SAMPLES_AS_EPOCHS

    initial_deviation: float
    init_checkpoint_step: int
    """Steps, at this batch size, that the initial weights were trained for; the learning rate
    schedule continues from there."""
    opt_name: str = "adam"
    opt_adam_beta_1: float = 0.9
    opt_adam_beta_2: float = 0.95
    opt_adam_epsilon: float = 1e-8
    opt_weight_decay: float = 0.1

    @property
    def sample_size(self) -> int:
        """Tokens of a sequence: the benchmark's logs count training in tokens."""
        return self.max_sequence_length

    @property
    def shape(self) -> tuple[object, ...]:
        """The fields that determine the weights' shapes, except the vocabulary, and the base."""
        return (self.name, *super().shape, self.initial_deviation)


def smoke() -> Gpt3:
    """Two small layers, started from a base that was trained on another corpus."""
    return Gpt3(
        layers=2,
        width=96,
        heads=4,
        kv_heads=4,
        ffn_width=384,
        vocabulary=128,
        max_sequence_length=64,
        initial_deviation=0.02,
        global_batch_size=16,
        train_samples=65_536,
        eval_samples=128 * 64,
        evaluation_interval=512,
        target=0.65,
        last_step=768,
        init_checkpoint_step=320,
        opt_base_learning_rate=3e-3,
        opt_end_learning_rate=3e-4,
        opt_learning_rate_warmup_steps=16,
        opt_learning_rate_decay_steps=320 + 768,
    )


POINT = ReferencePoint("training", "4.1", "gpt3", "gpt3_ref_1536")


def reference() -> Gpt3:
    """The benchmark with the settings of the convergence points of 4.1, at a batch of 1536."""
    point = POINT.settings()
    batch, rate = point["global_batch_size"], point["opt_base_learning_rate"]
    return Gpt3(
        layers=96,
        width=12_288,
        heads=96,
        kv_heads=96,
        ffn_width=4 * 12_288,
        # 50 257 pieces, padded to a multiple of 1024
        vocabulary=51_200,
        max_sequence_length=2048,
        initial_deviation=0.006,
        global_batch_size=batch,
        gradient_accumulation_steps=batch,
        recompute=True,
        train_samples=20_000_000,
        # 24 567 documents, in 5662 sequences whose first tokens are not predicted
        eval_samples=11_590_004,
        evaluation_interval=24_576,
        target=2.69,
        last_step=20_000_000 // batch,
        # The policy's formulas, in steps of 1536 sequences
        init_checkpoint_step=math.ceil(4000 * 1536 / batch),
        opt_base_learning_rate=rate,
        opt_end_learning_rate=rate * 0.1,
        opt_learning_rate_warmup_steps=math.ceil(265 * 1536 / batch),
        opt_learning_rate_decay_steps=math.ceil(108_600 * 1536 / batch),
        workers=2,
    )


# Open, since closed rules fix lengths, rates and counts of the full problem
BENCHMARKS = (
    Benchmark(
        name="gpt3",
        title="Large language model pretraining: GPT-3 175B on C4",
        smoke=smoke,
        reference=reference,
        data="train.bin and validation.bin, token ids in Megatron's layout or of 32 bits, and base",
        rounds=("3.0", "3.1", "4.0", "4.1"),
        point=POINT,
        division="open",
        axes=("dp", "fsdp"),
    ),
)
