"""Configs of decoders: shape, evaluation steps, and the fields for pretraining."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from podium.reference_runs.engine.config import Config, Unit
from podium.reference_runs.errors import RunFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.reference_runs.parallel.mesh import Mesh


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(Config):
    """The shape of a decoder, and the evaluation steps of a language model."""

    unit: ClassVar[Unit] = Unit.SAMPLES
    better: ClassVar[Literal["higher", "lower"]] = "lower"
    metric: ClassVar[str] = "log perplexity"

    layers: int
    width: int
    heads: int
    kv_heads: int
    ffn_width: int
    vocabulary: int
    max_sequence_length: int
    recompute: bool = False
    """Keep only each block's input, and recompute the block in the backward pass."""

    evaluation_interval: int
    """Sequences between evaluations, before rounding up to whole batches."""
    skipped_evaluations: int = 0

    def check_mesh(self, mesh: Mesh) -> None:
        """Raise RunFault if there are too few layers, micro-batches or parts of a sequence."""
        micro = self.gradient_accumulation_steps
        if mesh.pp > self.layers:
            raise RunFault(
                f"--mesh: pp is {mesh.pp}; expected at most layers, which is {self.layers}"
            )
        if mesh.pp > micro:
            raise RunFault(
                f"--mesh: pp is {mesh.pp}; expected at most gradient_accumulation_steps, which is"
                f" {micro}: each stage works on a different micro-batch"
            )
        if mesh.tp > 1 and self.max_sequence_length % (mesh.cp * mesh.tp):
            names, count = ("cp x tp" if mesh.cp > 1 else "tp"), mesh.cp * mesh.tp
            raise RunFault(
                f"--mesh: {names} is {count}; must divide max_sequence_length, which is"
                f" {self.max_sequence_length}"
            )
        if mesh.cp > 1 and self.max_sequence_length % (2 * mesh.cp):
            raise RunFault(
                f"--mesh: cp is {mesh.cp}; twice that must divide max_sequence_length, which is"
                f" {self.max_sequence_length}"
            )

    @property
    def shape(self) -> tuple[object, ...]:
        """The fields that determine the shape of the weights, except the vocabulary."""
        return (self.layers, self.width, self.heads, self.kv_heads, self.ffn_width)

    def evaluation_steps(self) -> Iterator[int]:
        """Every ceil(interval / batch) steps, without the first few."""
        interval = math.ceil(self.evaluation_interval / self.global_batch_size)
        # The first evaluations are skipped, but the later steps do not shift
        yield from range(interval * (1 + self.skipped_evaluations), self.last_step + 1, interval)


@dataclass(frozen=True, kw_only=True)
class RotaryConfig(DecoderConfig):
    """A decoder with rotary positions."""

    rope_theta: float = 500_000.0
    rope_scaling: float = 8.0
    rope_original_length: int = 8192


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig(DecoderConfig):
    """The pretraining of a decoder: a schedule, gradient clipping, and no dropout."""

    opt_name: str
    opt_base_learning_rate: float
    opt_end_learning_rate: float
    opt_learning_rate_warmup_steps: int
    opt_learning_rate_decay_steps: int
    opt_learning_rate_decay_schedule: str = "cosine with linear warmup"
    opt_gradient_clip_norm: float = 1.0
    dropout: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RotaryPretrainingConfig(RotaryConfig, PretrainingConfig):
    """Pretraining of a rotary decoder with AdamW."""

    samples_are_least: ClassVar[bool] = True

    opt_name: str = "adamw"
    opt_adamw_beta_1: float = 0.9
    opt_adamw_beta_2: float = 0.95
    opt_adamw_epsilon: float = 1e-5
    opt_adamw_weight_decay: float = 0.1
