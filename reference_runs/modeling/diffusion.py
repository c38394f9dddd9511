"""What diffusion models share: numbers drawn for each sample, embedded times, noise added."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from torch import Tensor


def chances(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random numbers of one sample in one epoch.

    They depend on neither rank nor loading process, so that a run is the same on any of them.
    """
    return np.random.default_rng([seed, epoch, index])


def sinusoids(time_B: Tensor, channels: int, longest: float = 10_000.0) -> Tensor:
    """Cosines and then sines of a time in steps (B,), (B, channels).

    Frequencies fall from 1 to nearly 1 / `longest` radians for each step. Source: Vaswani et al.,
    "Attention Is All You Need", 2017, in the order that diffusion models have taken over.
    """
    half = channels // 2
    exponents = torch.arange(half, dtype=torch.float32, device=time_B.device) / half
    angles = time_B[:, None].float() * torch.exp(-math.log(longest) * exponents)
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


def flowed(clean_BCHW: Tensor, noise_BCHW: Tensor, time_B: Tensor) -> tuple[Tensor, Tensor]:
    """Where a straight line from the data to noise is at a time from 0 to 1, and its velocity.

    Source: Liu, Gong, Liu, "Flow Straight and Fast", 2022 (rectified flow).
    """
    share = time_B[:, None, None, None]
    return (1 - share) * clean_BCHW + share * noise_BCHW, noise_BCHW - clean_BCHW
