"""GPT-OSS 20B: shape, schedule and evaluation steps at both scales.

Source of the reference figures: the published model's configuration, without the parts that the
benchmark omits (see the README), and the benchmark's reference convergence points of 6.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.reference_point import ReferencePoint
from podium.reference_runs.modeling.language.config import RotaryPretrainingConfig

END_OF_TEXT = 128_001
"""The end token of Llama 3.1's tokenizer, `<|end_of_text|>`."""


@dataclass(frozen=True, kw_only=True)
class GptOss(RotaryPretrainingConfig):
    """Pretraining of a mixture-of-experts decoder. `ffn_width` is that of each expert."""

    name: ClassVar[str] = "gpt_oss_20b"

    rope_theta: float = 150_000.0
    head_width: int
    window: int
    """Earlier positions that a token attends to in every other layer, from the first on."""
    experts: int
    active_experts: int
    """Experts per token."""
    initial_deviation: float = 0.02
    """Deviation of the initial weights; the last ones of a block have less."""
    end_of_document: int = -1
    """Token at the end of a document, -1 for none: the next token belongs to another document and
    is not scored."""
    max_steps: int


def smoke() -> GptOss:
    """Two small layers on sequences of the full length, in a synthetic language."""
    return GptOss(
        layers=2,
        width=48,
        heads=2,
        kv_heads=1,
        head_width=16,
        window=32,
        experts=8,
        active_experts=2,
        ffn_width=48,
        vocabulary=128,
        max_sequence_length=8192,
        global_batch_size=2,
        train_samples=128,
        eval_samples=2,
        evaluation_interval=8,
        target=1.05,
        last_step=64,
        opt_base_learning_rate=1e-2,
        opt_end_learning_rate=1e-3,
        opt_learning_rate_warmup_steps=4,
        opt_learning_rate_decay_steps=64 - 4,
        max_steps=64,
    )


POINT = ReferencePoint("training", "6.1", "gpt_oss_20b", "gpt_oss_20b_ref_16")


def reference() -> GptOss:
    """The benchmark with the settings of the convergence points of 6.1, at a batch of 16."""
    point = POINT.settings()
    batch, rate = point["global_batch_size"], point["opt_base_learning_rate"]
    warmup = point["opt_learning_rate_warmup_samples"] // batch
    return GptOss(
        layers=24,
        width=2880,
        heads=64,
        kv_heads=8,
        head_width=64,
        window=128,
        experts=32,
        active_experts=4,
        ffn_width=2880,
        vocabulary=128_256,
        max_sequence_length=8192,
        global_batch_size=batch,
        gradient_accumulation_steps=batch,
        initial_deviation=0.008,
        end_of_document=END_OF_TEXT,
        recompute=True,
        train_samples=12_288,
        eval_samples=1024,
        evaluation_interval=12_288,
        target=3.34,
        last_step=1_200_000,
        opt_base_learning_rate=rate,
        opt_end_learning_rate=rate * 0.1,
        opt_learning_rate_warmup_steps=warmup,
        opt_learning_rate_decay_steps=1_200_000 - warmup,
        max_steps=1_200_000,
        workers=2,
    )


BENCHMARKS = (
    Benchmark(
        name="gpt_oss_20b",
        title="Mixture-of-experts pretraining: GPT-OSS 20B on C4",
        smoke=smoke,
        reference=reference,
        data="train.bin and validation.bin, token ids as unsigned 32-bit integers",
        rounds=("6.0", "6.1"),
        point=POINT,
        division="open",
        axes=("dp", "fsdp", "ep"),
    ),
)
