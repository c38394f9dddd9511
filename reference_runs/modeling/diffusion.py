"""Common parts of diffusion models: random numbers per sample, time embeddings, added noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

B = TypeVar("B")


def chances(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The random numbers of one sample in one epoch.

    They depend on neither the rank nor the worker process, so a run is the same on all of them.
    """
    return np.random.default_rng([seed, epoch, index])


class DrawnSamples(torch.utils.data.Dataset[B]):
    """The training data of a diffusion model: encoded data, and random numbers for each sample."""

    def __init__(self, batch: Callable[..., B], count: int, seed: int) -> None:
        self._batch, self._count, self._seed, self._epoch = batch, count, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Draw other random numbers from now on."""
        self._epoch = epoch

    def __len__(self) -> int:
        return self._count

    def __getitems__(self, indices: Sequence[int]) -> B:
        """Samples by index."""
        samples = (self.sample(index, chances(self._seed, self._epoch, index)) for index in indices)
        rows = zip(*samples, strict=True)
        return self._batch(*(torch.from_numpy(np.stack(row)) for row in rows))

    def sample(self, index: int, rng: np.random.Generator) -> tuple[NDArray[Any], ...]:
        """The items of a batch for one sample, with random numbers from its generator."""
        raise NotImplementedError


def sinusoids(time_B: Tensor, channels: int, longest: float = 10_000.0) -> Tensor:
    """Cosines and then sines of a time in steps (B,), (B, channels).

    Frequencies fall from 1 to nearly 1 / `longest` radians per step. Source: Vaswani et al.,
    "Attention Is All You Need", 2017, in the order that is common in diffusion models.
    """
    half = channels // 2
    exponents = torch.arange(half, dtype=torch.float32, device=time_B.device) / half
    angles = time_B[:, None].float() * torch.exp(-math.log(longest) * exponents)
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


def flowed(clean_BCHW: Tensor, noise_BCHW: Tensor, time_B: Tensor) -> tuple[Tensor, Tensor]:
    """The point on the straight line from data to noise at a time from 0 to 1, and its velocity.

    Source: Liu, Gong, Liu, "Flow Straight and Fast", 2022 (rectified flow).
    """
    share = time_B[:, None, None, None]
    return (1 - share) * clean_BCHW + share * noise_BCHW, noise_BCHW - clean_BCHW


class Steps:
    """The discrete process: in step t a sample is kept[t] · data + lost[t] · noise.

    The square roots of the betas are linear from `first` to `last`, as in latent diffusion (Rombach
    et al., "High-Resolution Image Synthesis with Latent Diffusion Models", 2022).
    """

    def __init__(self, count: int, first: float, last: float) -> None:
        betas = torch.linspace(first**0.5, last**0.5, count, dtype=torch.float64) ** 2
        remaining = torch.cumprod(1 - betas, 0)
        self.count = count
        self.kept, self.lost = remaining.sqrt(), (1 - remaining).sqrt()

    def noised(self, clean: Tensor, noise: Tensor, step_B: Tensor) -> tuple[Tensor, Tensor]:
        """Noised samples (B, C, H, W) at steps (B,) from 0, and v, the model's target.

        v = kept · noise - lost · data. Source: Salimans, Ho, "Progressive Distillation for Fast
        Sampling of Diffusion Models", 2022.
        """
        kept, lost = (
            factor.to(clean)[step_B.to(clean.device), None, None, None]
            for factor in (self.kept, self.lost)
        )
        return kept * clean + lost * noise, kept * noise - lost * clean

    def sampled(
        self, start: Tensor, steps: int, predict: Callable[[Tensor, int], Tensor]
    ) -> Tensor:
        """Sample from noise in `count` steps or a few more, without new noise; `predict` returns v.

        The steps are equally spaced: 16 of 1000 are 62 apart, which results in 17.

        Source: Song, Meng, Ermon, "Denoising Diffusion Implicit Models", 2021, at eta 0.
        """
        kept, lost = self.kept.tolist(), self.lost.tolist()
        places = range(1, self.count, self.count // steps)
        x = start
        # The last step goes to the first time of all, which has hardly any noise
        for step, before in zip(reversed(places), [*reversed(places[:-1]), 0], strict=True):
            v = predict(x, step)
            clean, noise = kept[step] * x - lost[step] * v, lost[step] * x + kept[step] * v
            x = kept[before] * clean + lost[before] * noise
        return x
