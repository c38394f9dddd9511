"""FLUX.1: shape, process, optimizer and evaluation steps at both scales.

Source of the reference figures: the published model's configuration, the benchmark's description
(mlcommons/training, text_to_image), and the reference convergence points of 6.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from podium.logging_spec import keys
from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TIMES = 8
"""Times at which the loss is measured: 0, 1/8 … 7/8."""


@dataclass(frozen=True, kw_only=True)
class Flux(Config):
    """Training of a FLUX.1 transformer. A sample is an image with its caption."""

    name: ClassVar[str] = "flux1"
    unit: ClassVar[Unit] = Unit.SAMPLES
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    metric: ClassVar[str] = "validation loss"

    # model
    double_blocks: int
    single_blocks: int
    width: int
    heads: int
    inner_ratio: int = 4
    """Inner width of a feed-forward layer, as a multiple of the width."""
    axes: tuple[int, ...]
    """Channels of a head for text position, row and column; their sum is the head width."""
    rope_theta: float = 10_000.0
    time_channels: int
    recompute: bool = False
    """Keep only each block's input, and recompute the block in the backward pass."""

    # what is encoded beforehand
    latent_channels: int
    latent_size: int
    """Rows and columns of an encoded image."""
    patch: int = 2
    """Rows and columns per token."""
    latent_shift: float
    latent_scale: float
    """Shift and then scale of an encoded image."""
    text_length: int
    text_width: int
    pooled_width: int
    caption_dropout: float = 0.1
    """Share of training samples with the empty caption."""

    evaluation_frequency: int
    """Samples between evaluations, before rounding up to whole batches."""

    opt_name: str = "adamw"
    opt_base_learning_rate: float
    opt_learning_rate_warmup_steps: int
    opt_adamw_beta_1: float = 0.9
    opt_adamw_beta_2: float = 0.95
    opt_adamw_epsilon: float = 1e-8
    opt_adamw_weight_decay: float = 0.1
    opt_gradient_clip_norm: float = 1.0

    def evaluation_steps(self) -> Iterator[int]:
        """Every ceil(frequency / batch) steps."""
        interval = math.ceil(self.evaluation_frequency / self.global_batch_size)
        yield from range(interval, self.last_step + 1, interval)

    def quality_records(
        self, quality: float, division: str
    ) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
        """The loss; the open division's rules have a separate key for it."""
        yield from super().quality_records(quality, division)
        if division == "open":
            yield keys.AVERAGED_VALIDATION_LOSS.name, quality, {}


def smoke() -> Flux:
    """Two blocks of each kind, on generated shapes of 32 x 32 points in 16 tokens."""
    return Flux(
        double_blocks=2,
        single_blocks=2,
        width=64,
        heads=4,
        axes=(4, 6, 6),
        time_channels=64,
        latent_channels=4,
        latent_size=8,
        latent_shift=0.0,
        latent_scale=1.0,
        text_length=8,
        text_width=32,
        pooled_width=32,
        global_batch_size=16,
        train_samples=8192,
        eval_samples=256,
        evaluation_frequency=1024,
        # Below the rules' 0.586, which a linear map of latents and caption reaches here
        target=0.5,
        last_step=1408,
        opt_base_learning_rate=6e-3,
        opt_learning_rate_warmup_steps=32,
    )


POINT = ReferencePoint("training", "6.1", "flux1", "flux_ref_512")


def reference() -> Flux:
    """The benchmark with the settings of the convergence points of 6.1, at a batch of 512."""
    point = POINT.settings()
    batch = point["global_batch_size"]
    return Flux(
        double_blocks=19,
        single_blocks=38,
        width=3072,
        heads=24,
        axes=(16, 56, 56),
        time_channels=256,
        recompute=True,
        latent_channels=16,
        latent_size=32,
        latent_shift=0.1159,
        latent_scale=0.3611,
        text_length=256,
        text_width=4096,
        pooled_width=768,
        global_batch_size=batch,
        gradient_accumulation_steps=batch // 16,
        train_samples=1_099_776,
        eval_samples=29_696,
        evaluation_frequency=262_144,
        target=0.586,
        last_step=30_000,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        opt_adamw_weight_decay=point["opt_adamw_weight_decay"],
        opt_gradient_clip_norm=point["opt_gradient_clip_norm"],
        workers=8,
    )


BENCHMARKS = (
    Benchmark(
        name="flux1",
        title="Text to image: FLUX.1 schnell on CC12M",
        smoke=smoke,
        reference=reference,
        point=POINT,
        axes=("dp", "fsdp"),
        data=(
            "cc12m_preprocessed/ and coco_preprocessed/ (Arrow files of encoded images and"
            " captions), and empty_encodings/"
        ),
        rounds=("5.1", "6.0", "6.1"),
        # Closed rules fix the number of samples between evaluations
        division="open",
    ),
)
