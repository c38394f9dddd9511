"""SSD's default boxes, as boxes of left, top, right, bottom."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from podium.reference_runs.benchmarks.ssd.config import Ssd


def default_boxes(config: Ssd) -> Tensor:
    """All default boxes of an image, (A, 4), in the order of the network's output."""
    boxes = []
    for level, (side, step) in enumerate(zip(config.sides(), config.box_steps, strict=True)):
        centers = (torch.arange(side) + 0.5) * step
        y, x = torch.meshgrid(centers, centers, indexing="ij")
        places = torch.stack((x, y), -1).reshape(-1, 1, 2)
        # As in the benchmark's reference, no box is larger than the image
        halves = torch.tensor([*_sizes(config, level)]).clamp(max=config.image_size) / 2
        boxes.append(torch.cat((places - halves, places + halves), -1).reshape(-1, 4))
    return torch.cat(boxes)


def _sizes(config: Ssd, level: int) -> Iterator[tuple[float, float]]:
    """Width and height of each default box at a cell of a map."""
    small, large = config.box_sizes[level : level + 2]
    yield small, small
    yield math.sqrt(small * large), math.sqrt(small * large)
    for ratio in config.box_ratios[level]:
        wide, high = small * math.sqrt(ratio), small / math.sqrt(ratio)
        yield wide, high
        yield high, wide
