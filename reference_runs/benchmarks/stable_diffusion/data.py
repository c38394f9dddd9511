"""Encoded images with captions, the random numbers of training, and the evaluation data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from podium.reference_runs.benchmarks.stable_diffusion.frozen import tensors
from podium.reference_runs.benchmarks.stable_diffusion.quality import Gaussian, gaussian, sums
from podium.reference_runs.modeling.diffusion import DrawnSamples
from podium.reference_runs.modeling.shapes import Drawings, ImageEncoder, draw

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.stable_diffusion.config import StableDiffusion
    from podium.reference_runs.benchmarks.stable_diffusion.frozen import Frozen, Judge

    Floats = NDArray[np.float32]

EVALUATION_SEED = 30_000
"""Evaluation has the same captions and noise for every seed of a run."""
SPREAD = 0.15
"""Deviation of smoke scale's encoded images, which have a variance of 1."""
REAL = 2048
"""Number of images that the generated ones are compared with."""


class Pair(NamedTuple):
    """An image encoded as mean and deviation (C, H, W), and words (L,)."""

    mean: Floats
    deviation: Floats
    words: NDArray[np.int64]


class Pairs(Protocol):
    """A source of training pairs."""

    def __len__(self) -> int: ...

    def pair(self, index: int) -> Pair:
        """One pair."""
        ...


class Captions(NamedTuple):
    """The evaluation data: words (N, L), their vectors (N, E), and real images' features."""

    words: NDArray[np.int64]
    embedded: Floats
    real: Gaussian

    def __len__(self) -> int:
        """Number of captions, with one image each."""
        return len(self.words)


class Batch(NamedTuple):
    """Latents and noise (B, C, H, W), steps of the process (B,), and words (B, L).

    For plans, which have no networks, words are already encoded, (B, L, D).
    """

    latents: Tensor
    noise: Tensor
    steps: Tensor
    words: Tensor


class SyntheticPairs:
    """Pairs of smoke scale."""

    def __init__(self, config: StableDiffusion, drawings: Drawings) -> None:
        self._means = ImageEncoder(config.latent_channels).encode(drawings.images)
        self._deviation = np.full_like(self._means[0], SPREAD)
        self._words = drawings.words

    def __len__(self) -> int:
        return len(self._means)

    def pair(self, index: int) -> Pair:
        """One pair."""
        return Pair(self._means[index], self._deviation, self._words[index])


def synthetic(
    config: StableDiffusion, seed: int, frozen: Frozen, judge: Judge
) -> tuple[SyntheticPairs, Captions]:
    """Training pairs by seed, and captions that are the same for all seeds."""
    training = draw(config.train_samples, np.random.default_rng(seed))
    if config.shuffled_labels:
        training = training.shuffled(np.random.default_rng([seed, 1]))
    rng = np.random.default_rng(EVALUATION_SEED)
    (_, words), (real, _) = (tensors(draw(count, rng)) for count in (config.eval_samples, REAL))
    with torch.no_grad():
        embedded = judge.of_captions(words).numpy()
        features = gaussian(sums(frozen.features(real).double()))
    return SyntheticPairs(config, training), Captions(words.numpy(), embedded, features)


class Samples(DrawnSamples[Batch]):
    """Pairs with latents, noise and steps that depend on seed, epoch and sample only."""

    def __init__(self, pairs: Pairs, config: StableDiffusion, seed: int) -> None:
        super().__init__(Batch, len(pairs), seed)
        self._pairs, self._config = pairs, config

    def sample(self, index: int, rng: np.random.Generator) -> tuple[NDArray[np.generic], ...]:
        """The fields of `Batch` for one sample."""
        pair = self._pairs.pair(index)
        step = rng.integers(self._config.process_steps)
        chance, noise = rng.standard_normal((2, *pair.mean.shape), np.float32)
        latents = (pair.mean + pair.deviation * chance) * self._config.latent_scale
        return latents.astype(np.float32), noise, np.asarray(step), pair.words
