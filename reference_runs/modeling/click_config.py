"""Configs of click prediction models; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from podium.reference_runs.engine.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator

EVALUATIONS = 20
"""Evaluations within the only epoch of training."""


@dataclass(frozen=True, kw_only=True)
class ClickConfig(Config):
    """Embedding tables, an MLP for dense features, and an MLP for the log odds."""

    sends_activations: ClassVar[bool] = False
    metric: ClassVar[str] = "area under the ROC curve"

    rows: tuple[int, ...]
    """Rows of each embedding table."""
    ids: tuple[int, ...]
    """Number of ids per table and sample, whose rows are summed."""
    width: int
    bottom_widths: tuple[int, ...]
    """Layer widths of the MLP for dense features; the last is that of an embedding."""
    top_widths: tuple[int, ...]
    sparse_gradients: bool = False
    """Whether the gradient of a table contains only the rows that the step used."""

    def evaluation_steps(self) -> Iterator[int]:
        """Every floor(samples / (20 · batch)) steps, within one epoch."""
        # Rounded down like the policy's formula, unlike the steps of other benchmarks
        interval = max(1, self.train_samples // (self.global_batch_size * EVALUATIONS))
        yield from range(interval, min(self.last_step, self.steps_per_epoch) + 1, interval)
