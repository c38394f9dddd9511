"""Encoded images and captions, and the random numbers of training: noise, time, empty caption."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from podium.reference_runs.benchmarks.flux1.config import TIMES
from podium.reference_runs.modeling.diffusion import DrawnSamples
from podium.reference_runs.modeling.shapes import (
    LENGTH,
    VOCABULARY,
    Drawings,
    ImageEncoder,
    TextEncoder,
    draw,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.flux1.config import Flux

    Floats = NDArray[np.float32]

EVALUATION_SEED = 29_696
"""Evaluation has the same samples and noise for every seed of a run."""
SPREAD = 0.15
"""Noise in smoke scale's encoded images, of total variance 1, which no model can predict."""


class Caption(NamedTuple):
    """An encoded caption: its tokens (T, S) and their pooled vector (P,)."""

    text: Floats
    pooled: Floats


class Pair(NamedTuple):
    """An image encoded as mean and deviation (C, H, W), and its caption.

    `step` is the time at which the pair is evaluated, in eighths.
    """

    mean: Floats
    deviation: Floats
    caption: Caption
    step: int


class Pairs(Protocol):
    """A source of pairs."""

    empty: Caption
    """The empty caption."""

    def __len__(self) -> int: ...

    def pair(self, index: int) -> Pair:
        """One pair."""
        ...


class Batch(NamedTuple):
    """Latents and noise (B, C, H, W), captions (B, T, S) and (B, P), times from 0 to 1, (B,)."""

    latents: Tensor
    noise: Tensor
    text: Tensor
    pooled: Tensor
    times: Tensor


class SyntheticPairs:
    """Pairs of smoke scale: shapes, encoded by frozen encoders."""

    def __init__(self, config: Flux, drawings: Drawings) -> None:
        self._means = ImageEncoder(config.latent_channels).encode(drawings.images)
        self._deviation = np.full_like(self._means[0], SPREAD)
        encoder = TextEncoder(config.text_width, config.pooled_width)
        self._text, self._pooled = encoder.encode(drawings.words)
        nothing = np.full((1, LENGTH), VOCABULARY.index(""))
        self.empty = Caption(*(rows[0] for rows in encoder.encode(nothing)))

    def __len__(self) -> int:
        return len(self._means)

    def pair(self, index: int) -> Pair:
        """One pair."""
        caption = Caption(self._text[index], self._pooled[index])
        return Pair(self._means[index], self._deviation, caption, index % TIMES)


def synthetic(config: Flux, seed: int) -> tuple[SyntheticPairs, SyntheticPairs]:
    """Training pairs by seed, and evaluation pairs that are the same for all seeds."""
    training = draw(config.train_samples, np.random.default_rng(seed))
    if config.shuffled_labels:
        training = training.shuffled(np.random.default_rng([seed, 1]))
    evaluation = draw(config.eval_samples, np.random.default_rng(EVALUATION_SEED))
    return SyntheticPairs(config, training), SyntheticPairs(config, evaluation)


class Samples(DrawnSamples[Batch]):
    """Pairs with noise, latents and times that depend on seed, epoch and sample only.

    In evaluation (`measured`) each pair has a fixed time, and its caption.
    """

    def __init__(self, pairs: Pairs, config: Flux, seed: int, *, measured: bool = False) -> None:
        super().__init__(Batch, len(pairs), seed)
        self._pairs, self._config, self._measured = pairs, config, measured

    def sample(self, index: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """The fields of `Batch` for one sample."""
        config, pair = self._config, self._pairs.pair(index)
        time, without = rng.random(2)
        latents, noise = rng.standard_normal((2, *pair.mean.shape), np.float32)
        latents = pair.mean + pair.deviation * latents
        latents = (latents - config.latent_shift) * config.latent_scale
        caption = pair.caption
        if self._measured:
            time = pair.step / TIMES
        elif without < config.caption_dropout:
            caption = self._pairs.empty
        return latents.astype(np.float32), noise, *caption, np.asarray(time, np.float32)
