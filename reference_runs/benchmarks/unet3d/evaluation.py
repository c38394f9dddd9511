"""Segmentation of a whole volume with overlapping windows, and its Dice scores."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - torch's own custom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from podium.reference_runs.benchmarks.unet3d.config import UNet3D

WIDTH = 0.125
"""Deviation of the windows' Gaussian weights, relative to their sides."""

TINY = 1e-6


def corners(shape: Sequence[int], config: UNet3D) -> list[tuple[int, ...]]:
    """Corners of the windows: overlapping as configured, the last ones at the volume's end."""
    axes = []
    for whole, size in zip(shape, config.validation_input_shape, strict=True):
        step = max(1, int(size * (1 - config.validation_overlap)))
        axes.append(sorted({*range(0, whole - size + 1, step), whole - size}))
    return list(product(*axes))


def window_weights(sizes: Sequence[int]) -> Tensor:
    """A Gaussian around the window's center, with small weights at its edges."""
    weights = torch.ones(())
    for size in sizes:
        away = (torch.arange(size) - (size - 1) / 2) / (size * WIDTH)
        weights = weights[..., None] * torch.exp(-(away**2) / 2)
    # A volume's corner is covered only by corners of windows, and is divided by these weights
    return weights.clamp(min=1e-3)


def segment(
    model: Callable[[Tensor], Tensor], image: Tensor, config: UNet3D, at_once: int
) -> Tensor:
    """Logits of each class, (classes, D, H, W), of a volume (D, H, W) no smaller than a window.

    The model is called with at most `at_once` windows.
    """
    sizes = config.validation_input_shape
    weights = window_weights(sizes).to(image.device)
    total = torch.zeros((config.classes, *image.shape), device=image.device)
    count = torch.zeros(image.shape, device=image.device)
    places = [
        tuple(slice(start, start + size) for start, size in zip(corner, sizes, strict=True))
        for corner in corners(image.shape, config)
    ]
    for begin in range(0, len(places), at_once):
        some = places[begin : begin + at_once]
        scores = model(torch.stack([image[place] for place in some])[:, None]).float()
        for place, score in zip(some, scores.softmax(1), strict=True):
            total[:, *place] += score * weights
            count[place] += weights
    return total / count


def dice(scores: Tensor, label: Tensor) -> Tensor:
    """Dice score of each class except the background; 1 if a class is absent and not predicted."""
    classes = len(scores)
    seen = F.one_hot(scores.argmax(0), classes)[..., 1:].flatten(0, 2).float()
    true = F.one_hot(label, classes)[..., 1:].flatten(0, 2).float()
    return (2 * (seen * true).sum(0) + TINY) / (seen.sum(0) + true.sum(0) + TINY)


def dice_loss(scores: Tensor, label: Tensor) -> Tensor:
    """One minus the soft Dice score of each class except the background, by sample, (B,)."""
    seen = scores.softmax(1)[:, 1:].flatten(2)
    true = F.one_hot(label, scores.shape[1]).movedim(-1, 1)[:, 1:].flatten(2)
    overlap = (seen * true).sum(-1)
    return 1 - ((2 * overlap + TINY) / (seen.sum(-1) + true.sum(-1) + TINY)).mean(1)
