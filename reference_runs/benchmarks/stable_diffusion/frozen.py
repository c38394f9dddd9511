"""The frozen networks around the U-Net, which smoke scale generates before a run.

A linear autoencoder and word vectors replace the published ones. A small network, trained to match
images with captions, evaluates images: the features before its last layer replace Inception's, its
vectors of images and captions replace CLIP's.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own custom

from podium.reference_runs.engine.cache import kept_weights
from podium.reference_runs.modeling.shapes import (
    LENGTH,
    VOCABULARY,
    Drawings,
    ImageEncoder,
    TextEncoder,
    draw,
)

if TYPE_CHECKING:
    from podium.reference_runs.benchmarks.stable_diffusion.config import StableDiffusion
    from podium.reference_runs.engine.setting import Setting

JUDGE_SEED = 400
STEPS, BATCH, RATE = 150, 64, 3e-3
FEATURES, EMBEDDED = 32, 32
FEATURE_SCALE = 6.5
"""Scales distances to those of Inception's features: hundreds from noise to images."""
BLUR = 0.3
"""Maximum deviation of noise in the training images of the evaluation network."""
SHARPNESS = 10.0
"""Scale of similarities before the softmax over a batch."""
VERSION = 1
"""Increment this when the code below produces other weights."""


class Frozen(NamedTuple):
    """Networks that a run uses but does not train."""

    text: nn.Module
    """Words (B, L) to encoded captions (B, L, D)."""
    decoder: nn.Module
    """The autoencoder's latents (B, C, H, W) to images (B, 3, height, width)."""
    features: nn.Module
    """Images to features for the Fréchet distance, (B, F)."""
    embedding: nn.Module
    """Images to vectors in the space of captions, (B, E)."""

    def to(self, device: torch.device) -> Frozen:
        """The same on a device."""
        return Frozen(*(network.to(device).eval() for network in self))


class Judge(nn.Module):
    """Images and captions in one space, trained on matching pairs."""

    def __init__(self) -> None:
        super().__init__()
        widths = (3, 16, 32, 32)
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.ReLU()]
        self.before = nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, FEATURES))
        self.image = nn.Linear(FEATURES, EMBEDDED)
        self.caption = nn.Linear(LENGTH * len(VOCABULARY), EMBEDDED)

    def of_images(self, images: Tensor) -> Tensor:
        """(B, 3, 32, 32) to vectors of length 1, (B, E)."""
        return F.normalize(self.image(F.relu(self.before(images))), dim=-1)

    def of_captions(self, words: Tensor) -> Tensor:
        """(B, 8) to vectors of length 1, (B, E)."""
        known = F.one_hot(words, len(VOCABULARY)).flatten(1).to(self.caption.weight.dtype)
        return F.normalize(self.caption(known), dim=-1)


class _Features(nn.Module):
    """The judge's features before its last layer."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self.judge = judge

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = FEATURE_SCALE * self.judge.before(images)
        return features


class _Embedding(nn.Module):
    """The judge's vector of an image."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self.judge = judge

    def forward(self, images: Tensor) -> Tensor:
        return self.judge.of_images(images)


class _Decoder(nn.Module):
    """The autoencoder's decoder, as a layer."""

    outward: Tensor
    middle: Tensor

    def __init__(self, encoder: ImageEncoder) -> None:
        super().__init__()
        self.register_buffer("outward", torch.from_numpy(encoder.outward).float())
        self.register_buffer("middle", torch.from_numpy(encoder.middle).float())

    def forward(self, latents: Tensor) -> Tensor:
        parts = latents.permute(0, 2, 3, 1) @ self.outward + self.middle
        patch = round((parts.shape[-1] / 3) ** 0.5)
        return F.pixel_shuffle(parts.permute(0, 3, 1, 2), patch)


class _Text(nn.Module):
    """Vectors of words and positions."""

    words: Tensor
    places: Tensor

    def __init__(self, encoder: TextEncoder) -> None:
        super().__init__()
        self.register_buffer("words", torch.from_numpy(encoder.words))
        self.register_buffer("places", torch.from_numpy(encoder.places))

    def forward(self, words: Tensor) -> Tensor:
        return (self.words[words] + self.places) / 2**0.5


def made(config: StableDiffusion, setting: Setting) -> tuple[Frozen, Judge]:
    """The networks of smoke scale, the same for every seed of a run."""
    judge = Judge()
    what = (STEPS, BATCH, RATE, FEATURES, EMBEDDED, SHARPNESS, VERSION)
    encoder = ImageEncoder(config.latent_channels)
    weights = kept_weights(
        setting, "judge", (*what, config.latent_channels), lambda: _learned(encoder)
    )
    judge.load_state_dict(weights)
    text, decoder = _Text(TextEncoder(config.context_width, 1)), _Decoder(encoder)
    return Frozen(text, decoder, _Features(judge), _Embedding(judge)), judge


def _learned(encoder: ImageEncoder) -> dict[str, Tensor]:
    torch.default_generator.manual_seed(JUDGE_SEED)
    judge, rng = Judge(), np.random.default_rng(JUDGE_SEED)
    adam = torch.optim.Adam(judge.parameters(), RATE)
    own = torch.arange(BATCH)
    for step in range(STEPS):
        drawings = draw(BATCH, rng)
        if step % 2:
            # The autoencoder's loss of detail must not count against the U-Net
            decoded = encoder.decode(encoder.encode(drawings.images))
            drawings = Drawings(decoded, drawings.words)
        images, words = tensors(drawings)
        images = images + rng.uniform(0, BLUR) * torch.randn_like(images)
        scores = SHARPNESS * judge.of_images(images) @ judge.of_captions(words).T
        loss = F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        adam.zero_grad(set_to_none=True)
    return judge.state_dict()


def tensors(drawings: Drawings) -> tuple[Tensor, Tensor]:
    """Images, in the precision of the layers, and words."""
    images = torch.from_numpy(drawings.images).to(torch.get_default_dtype())
    return images, torch.from_numpy(drawings.words)
