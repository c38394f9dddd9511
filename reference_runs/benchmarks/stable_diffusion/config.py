"""Stable Diffusion v2: shape, process, optimizer and evaluation steps at both scales.

Source of the reference figures: the reference's configuration (mlcommons/training,
stable_diffusion) and the reference convergence points of 5.0 at a batch of 512.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from podium.reference_runs.catalogue import Benchmark
from podium.reference_runs.engine.config import Config, Unit, version
from podium.reference_runs.engine.reference_point import ReferencePoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Scores(float):
    """The Fréchet distance of generated images, with the CLIP score of the same images."""

    clip: float

    def __new__(cls, distance: float, clip: float) -> Self:
        """Both scores of one evaluation."""
        scores = super().__new__(cls, distance)
        scores.clip = clip
        return scores


@dataclass(frozen=True, kw_only=True)
class StableDiffusion(Config):
    """Training of the U-Net. A sample is an image with its caption."""

    name: ClassVar[str] = "stable_diffusion"
    unit: ClassVar[Unit] = Unit.SAMPLES
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    metric: ClassVar[str] = "FID"

    # model
    channels: int
    multiples: tuple[int, ...]
    """Channels of each level, as multiples of `channels`; each level halves the rows."""
    blocks: int
    """Residual blocks of a level on the way down; one more on the way up."""
    attention_levels: int
    """Number of levels with attention, from the first."""
    head_width: int
    norm_groups: int
    attention_groups: int
    """Groups of the norms before attention, which differ in the reference."""
    context_length: int
    empty_caption: tuple[int, ...] = ()
    """Initial tokens of the empty caption; zeros follow."""
    context_width: int

    # process
    latent_channels: int = 4
    latent_size: int
    latent_scale: float
    """Scale of an encoded image."""
    process_steps: int = 1000
    first_beta: float = 0.00085
    last_beta: float = 0.012
    sampling_steps: int
    guidance: float
    """Guidance scale; 1 omits the unconditional prediction."""

    evaluation_interval: int
    """Samples between evaluations, before rounding up to whole batches."""
    clip_target: float = 0.15
    """The target of the CLIP score, in addition to the FID target."""

    opt_name: str = "adamw"
    opt_base_learning_rate: float
    """Learning rate per sample of a batch."""
    opt_learning_rate_warmup_steps: int = 1000
    opt_adamw_beta_1: float = 0.9
    opt_adamw_beta_2: float = 0.999
    opt_adamw_epsilon: float = 1e-8
    opt_adamw_weight_decay: float = 0.01

    def evaluation_steps(self) -> Iterator[int]:
        """Every ceil(interval / batch) steps."""
        interval = math.ceil(self.evaluation_interval / self.global_batch_size)
        yield from range(interval, self.last_step + 1, interval)

    def unit_in(self, round_name: str) -> Unit:
        """Steps in 3.1, samples since."""
        return Unit.STEPS if version(round_name) < (4, 0) else self.unit

    def reached(self, quality: float) -> bool:
        """Whether both scores reach their targets."""
        clip = quality.clip if isinstance(quality, Scores) else math.nan
        return super().reached(quality) and clip >= self.clip_target

    @property
    def target_text(self) -> str:
        """Both targets."""
        return f"{super().target_text}, CLIP score {self.clip_target:g}"

    def figures(self, quality: float) -> str:
        """Both scores."""
        clip = f", CLIP score {quality.clip:.4f}" if isinstance(quality, Scores) else ""
        return f"{self.metric} {quality:.4f}{clip}"

    def missed(self, quality: float) -> str:
        """The targets that were missed."""
        clip = quality.clip if isinstance(quality, Scores) else math.nan
        near, alike = super().reached(quality), clip >= self.clip_target
        goals = [super().missed(quality), f"CLIP score >= {self.clip_target:g}"]
        if near == alike:
            return " and ".join(goals)
        return goals[1] if near else goals[0]

    def quality_records(
        self,
        quality: float,
        division: str,
    ) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
        """A record of each score."""
        yield "eval_accuracy", float(quality), {"metric": "FID"}
        if isinstance(quality, Scores):
            yield "eval_accuracy", quality.clip, {"metric": "CLIP"}


def smoke() -> StableDiffusion:
    """Two levels, on generated shapes of 32 x 32 points."""
    return StableDiffusion(
        channels=24,
        multiples=(1, 2),
        blocks=1,
        attention_levels=1,
        head_width=24,
        norm_groups=8,
        attention_groups=8,
        context_length=8,
        context_width=32,
        latent_size=8,
        latent_scale=1.0,
        sampling_steps=16,
        guidance=1.0,
        evaluation_interval=512,
        global_batch_size=16,
        train_samples=8192,
        eval_samples=128,
        target=90.0,
        last_step=1024,
        opt_base_learning_rate=6e-5,
        opt_learning_rate_warmup_steps=32,
    )


POINT = ReferencePoint("training", "5.0", "stable_diffusion", "sd_ref_512")


def reference() -> StableDiffusion:
    """The benchmark with the settings of the convergence points of 5.0, at a batch of 512."""
    point = POINT.settings()
    batch = point["global_batch_size"]
    return StableDiffusion(
        channels=320,
        multiples=(1, 2, 4, 4),
        blocks=2,
        attention_levels=3,
        head_width=64,
        # 32 in the released model
        norm_groups=16,
        attention_groups=32,
        context_length=77,
        # Start and end tokens of CLIP's tokenizer
        empty_caption=(49_406, 49_407),
        context_width=1024,
        latent_size=64,
        latent_scale=0.18215,
        sampling_steps=50,
        guidance=8.0,
        evaluation_interval=512_000,
        global_batch_size=batch,
        gradient_accumulation_steps=batch // 16,
        train_samples=6_513_144,
        eval_samples=30_000,
        target=90.0,
        last_step=20_000,
        opt_base_learning_rate=point["opt_base_learning_rate"],
        opt_learning_rate_warmup_steps=point["opt_learning_rate_warmup_steps"],
        opt_adamw_weight_decay=point["opt_adamw_weight_decay"],
        workers=8,
    )


BENCHMARKS = (
    Benchmark(
        name="stable_diffusion",
        title="Text to image: Stable Diffusion v2 on LAION-400M",
        smoke=smoke,
        reference=reference,
        point=POINT,
        data="train/ (encoded images and tokens), evaluation/ and networks/ (frozen, TorchScript)",
        rounds=("3.1", "4.0", "4.1", "5.0"),
    ),
)
