"""Configs of detectors; imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from podium.reference_runs.engine.config import Config, Unit


@dataclass(frozen=True, kw_only=True)
class DetectionConfig(Config):
    """Training of a detector. A sample is a square image."""

    unit: ClassVar[Unit] = Unit.EPOCHS
    metric: ClassVar[str] = "mean average precision of boxes, IoU 0.50 to 0.95"

    image_size: int
    classes: int
