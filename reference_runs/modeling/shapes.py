"""Generated images of two shapes with captions, and frozen encoders of both, for smoke scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Words = NDArray[np.int64]

SIDE, PATCH = 32, 4
"""Pixels along a side of an image, and of a patch that is encoded separately."""
COLOURS = {
    "red": (0.9, -0.7, -0.7),
    "green": (-0.7, 0.8, -0.6),
    "blue": (-0.7, -0.5, 0.9),
    "yellow": (0.9, 0.8, -0.8),
}
"""Red, green and blue from -1 to 1."""
SHAPES = ("disc", "square", "cross")
RELATIONS = {"left": (0, -1), "right": (0, 1), "above": (-1, 0), "below": (1, 0)}
"""Offset of the first shape from the center: rows down, columns to the right."""
VOCABULARY = ("", "a", "of", *COLOURS, *SHAPES, *RELATIONS)
LENGTH = 8
"""Number of words in the longest caption."""
JITTER, BACKGROUND = 0.5, -0.2
ENCODER_SEED, FITTED = 512, 256
"""Seed of the frozen encoders, the same in every run, and number of images to fit them."""


class Drawings(NamedTuple):
    """Images (N, 3, 32, 32) from -1 to 1, and their captions as indices into VOCABULARY, (N, 8)."""

    images: Floats
    words: Words

    def shuffled(self, rng: np.random.Generator) -> Drawings:
        """Every image with the caption of another."""
        return Drawings(self.images, rng.permutation(self.words))


def draw(count: int, rng: np.random.Generator) -> Drawings:
    """Draw `count` images such as "a red disc left of a blue square".

    A single word of a shape does not determine its position without the others and their order.
    """
    relation = rng.integers(len(RELATIONS), size=count)
    away = np.array([*RELATIONS.values()])[relation] * SIDE / 4
    images = np.full((count, 3, SIDE, SIDE), BACKGROUND, np.float32)
    chosen = []
    for side in (1, -1):
        colour, shape = (rng.integers(len(of), size=count) for of in (COLOURS, SHAPES))
        centre = SIDE / 2 + side * away + rng.uniform(-JITTER, JITTER, (count, 2))
        inside = _inside(shape, centre.astype(np.float32))
        paint = np.array([*COLOURS.values()], np.float32)[colour]
        images = np.where(inside[:, None], paint[:, :, None, None], images)
        chosen.append((colour, shape))
    return Drawings(images, _captions(relation, *chosen))


def _inside(shape: Words, centre: Floats) -> NDArray[np.bool_]:
    """The pixels that a shape covers, (N, 32, 32)."""
    points = np.arange(SIDE, dtype=np.float32) + 0.5
    dy = np.abs(points[None, :, None] - centre[:, 0, None, None])
    dx = np.abs(points[None, None, :] - centre[:, 1, None, None])
    far, near = np.maximum(dy, dx), np.minimum(dy, dx)
    kinds = (dy**2 + dx**2 < 36.0, far < 5.0, (far < 7.0) & (near < 2.0))
    inside: NDArray[np.bool_] = np.choose(shape[:, None, None], kinds)
    return inside


def _captions(relation: Words, *shapes: tuple[Words, Words]) -> Words:
    place = {word: number for number, word in enumerate(VOCABULARY)}
    colours, kinds, relations = (
        np.array([place[word] for word in of]) for of in (COLOURS, SHAPES, RELATIONS)
    )
    article, of = (np.full_like(relation, place[word]) for word in ("a", "of"))
    (first_colour, first), (second_colour, second) = shapes
    # "above of": all captions have the same grammar, which keeps every word at its position
    words = (
        *(article, colours[first_colour], kinds[first]),
        *(relations[relation], of),
        *(article, colours[second_colour], kinds[second]),
    )
    return np.stack(words, axis=1)


class ImageEncoder:
    """A frozen linear autoencoder: the principal components of image patches."""

    def __init__(self, channels: int) -> None:
        parts = _parts(draw(FITTED, np.random.default_rng(ENCODER_SEED)).images)
        flat = parts.reshape(-1, parts.shape[-1])
        self.middle = flat.mean(0)
        _, sizes, directions = np.linalg.svd(flat - self.middle, full_matrices=False)
        deviation = sizes[:channels] / np.sqrt(len(flat))
        # Latents have a variance of 1 in each channel
        self.inward = (directions[:channels] / deviation[:, None]).T
        self.outward = directions[:channels] * deviation[:, None]

    def encode(self, images: Floats) -> Floats:
        """Encode (N, 3, 32, 32) to latents (N, channels, 8, 8)."""
        latents: Floats = (_parts(images) - self.middle) @ self.inward
        return np.ascontiguousarray(latents.transpose(0, 3, 1, 2), np.float32)

    def decode(self, latents: Floats) -> Floats:
        """Decode latents; the loss depends on the number of channels."""
        parts = latents.transpose(0, 2, 3, 1) @ self.outward + self.middle
        cut = parts.reshape(*parts.shape[:3], 3, PATCH, PATCH).transpose(0, 3, 1, 4, 2, 5)
        images: Floats = cut.reshape(len(latents), 3, SIDE, SIDE).astype(np.float32)
        return images


def _parts(images: Floats) -> Floats:
    """Square patches of images, (N, 8, 8, 3·PATCH²)."""
    side = SIDE // PATCH
    cut = images.reshape(-1, 3, side, PATCH, side, PATCH).transpose(0, 2, 4, 1, 3, 5)
    return cut.reshape(-1, side, side, 3 * PATCH * PATCH)


class TextEncoder:
    """Frozen random vectors of words and of positions; the pooled vector is a projected mean."""

    def __init__(self, width: int, pooled_width: int) -> None:
        rng = np.random.default_rng(ENCODER_SEED)
        self.words, self.places, self.pooling = (
            rng.standard_normal(shape).astype(np.float32)
            for shape in ((len(VOCABULARY), width), (LENGTH, width), (width, pooled_width))
        )

    def encode(self, words: Words) -> tuple[Floats, Floats]:
        """Encode captions (N, 8) to (N, 8, width) and (N, pooled width)."""
        text = (self.words[words] + self.places) / np.sqrt(2, dtype=np.float32)
        pooled = text.mean(1) * np.sqrt(LENGTH, dtype=np.float32)
        return text, pooled @ self.pooling / np.sqrt(len(self.pooling), dtype=np.float32)
