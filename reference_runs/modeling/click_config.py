"""Configs of models that predict clicks; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.engine.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator

EVALUATIONS = 20
"""In the one epoch that training may take."""


@dataclass(frozen=True, kw_only=True)
class ClickConfig(Config):
    """Tables of ids, a perceptron for dense features, and one that gives the log odds."""

    sends_activations: ClassVar[bool] = False
    metric: ClassVar[str] = "area under the ROC curve"

    rows: tuple[int, ...]
    """Of each embedding table."""
    ids: tuple[int, ...]
    """How many rows of each table a sample sums."""
    width: int
    bottom_widths: tuple[int, ...]
    """Of the perceptron for dense features; the last is that of an embedding."""
    top_widths: tuple[int, ...]
    sparse_gradients: bool = False
    """Whether a step's gradient of a table holds only the rows it used."""

    def evaluation_steps(self) -> Iterator[int]:
        """Every floor(samples / (20 · batch)) steps, within one epoch."""
        # Rounded down, unlike the grids of other benchmarks: so is the policy's formula
        interval = max(1, self.train_samples // (self.global_batch_size * EVALUATIONS))
        yield from range(interval, min(self.last_step, self.steps_per_epoch) + 1, interval)
