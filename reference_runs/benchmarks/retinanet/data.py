"""Batches of scenes, mirrored at random for training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.modeling.detection.scenes import Batch, batch_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from podium.reference_runs.modeling.detection.scenes import Scene, Source


class Scenes(torch.utils.data.Dataset[Batch]):
    """Batches of scenes; training ones are mirrored half of the time, by seed, epoch and index."""

    def __init__(self, source: Source, seed: int | None) -> None:
        self.source, self.seed, self.epoch = source, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Mirror other scenes in each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Scenes by index."""
        return batch_of([self._scene(index) for index in indices])

    def _scene(self, index: int) -> Scene:
        scene = self.source.scene(index)
        if self.seed is None:
            return scene
        if np.random.default_rng([self.seed, self.epoch, index, 0xF11]).random() < 0.5:
            return scene
        return scene.mirrored()
