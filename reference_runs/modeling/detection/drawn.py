"""Generated scenes: discs, squares and triangles, with their boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.reference_runs.modeling.detection.scenes import Scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

OBJECTS = 3
"""Maximum number of shapes in a generated scene."""

NOISE = 0.05


class SyntheticScenes:
    """Scenes in memory as arrays; `targets` has the index of the objects for each image."""

    def __init__(
        self,
        pixels: NDArray[np.uint8],
        boxes: NDArray[np.float32],
        classes: NDArray[np.int64],
        masks: NDArray[np.bool_],
    ) -> None:
        self.pixels, self.boxes, self.classes, self.masks = pixels, boxes, classes, masks
        self.targets = np.arange(len(pixels))

    def __len__(self) -> int:
        return len(self.pixels)

    def scene(self, index: int) -> Scene:
        """One scene."""
        of = self.targets[index]
        there = self.classes[of] >= 0
        return Scene(self.pixels[index], self.boxes[of][there], self.classes[of][there])

    def bitmaps(self, index: int) -> NDArray[np.uint8]:
        """The visible pixels of each object of a scene, (M, side, side), 1 or 0."""
        of = self.targets[index]
        shown: NDArray[np.uint8] = self.masks[of][self.classes[of] >= 0].astype(np.uint8)
        return shown


def draw(count: int, side: int, seed: Sequence[int]) -> SyntheticScenes:
    """Scenes with one to three discs, squares or triangles of random position, size and color."""
    rng = np.random.default_rng([0xDE7, *seed])
    pixels = np.broadcast_to(rng.uniform(0, 0.35, (count, 1, 1, 3)), (count, side, side, 3))
    boxes = np.zeros((count, OBJECTS, 4), dtype=np.float32)
    classes = np.full((count, OBJECTS), -1, dtype=np.int64)
    masks = np.zeros((count, OBJECTS, side, side), dtype=np.bool_)
    many = rng.integers(1, OBJECTS + 1, count)
    for index in range(OBJECTS):
        there = many > index
        boxes[:, index], kind = _boxes(rng, count, side), rng.integers(0, 3, count)
        # A hidden shape cannot be found, which would limit the precision
        there &= ~_covers_another(boxes[:, index], boxes[:, :index], classes[:, :index] >= 0)
        classes[:, index] = np.where(there, kind, -1)
        inside = _inside(boxes[:, index], kind, side) & there[:, None, None]
        colour = rng.uniform(0.55, 1, (count, 1, 1, 3))
        pixels = np.where(inside[..., None], colour, pixels)
        masks &= ~inside[:, None]  # an earlier shape is behind this one
        masks[:, index] = inside
    pixels = pixels + rng.normal(0, NOISE, pixels.shape)
    return SyntheticScenes((pixels.clip(0, 1) * 255).astype(np.uint8), boxes, classes, masks)


def _boxes(rng: np.random.Generator, count: int, side: int) -> NDArray[np.float32]:
    """A box in each scene, (N, 4)."""
    size = rng.uniform(0.3, 0.6, (count, 1)) * side * rng.uniform(0.85, 1.18, (count, 2))
    corner = rng.uniform(0, 1, (count, 2)) * (side - size)
    return np.concatenate((corner, corner + size), -1).round().astype(np.float32)


def _covers_another(
    box: NDArray[np.float32], others: NDArray[np.float32], there: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Whether a new box would cover a good part of an earlier one, (N,)."""
    begin = np.maximum(box[:, None, :2], others[..., :2])
    end = np.minimum(box[:, None, 2:], others[..., 2:])
    common = (end - begin).clip(min=0).prod(-1)
    small = np.minimum(
        (box[:, 2:] - box[:, :2]).prod(-1)[:, None], (others[..., 2:] - others[..., :2]).prod(-1)
    )
    return np.asarray(((common > 0.15 * small) & there).any(-1))


def _inside(box: NDArray[np.float32], kind: NDArray[np.int64], side: int) -> NDArray[np.bool_]:
    """Each scene's pixels in its shape, (N, side, side); the shape fills its box."""
    centers = np.arange(side) + 0.5
    left, top, right, bottom = box.T[:, :, None]
    u = (2 * centers - left - right)[:, None, :] / (right - left)[:, None]
    v = (2 * centers - top - bottom)[:, :, None] / (bottom - top)[:, None]
    disc, square = u**2 + v**2 < 1, np.maximum(abs(u), abs(v)) < 1
    triangle = (v < 1) & (v > 2 * abs(u) - 1)
    return np.asarray(np.choose(kind[:, None, None], [disc, square, triangle]))


def synthetic(
    counts: tuple[int, int], side: int, seed: int
) -> tuple[SyntheticScenes, SyntheticScenes]:
    """Training scenes by the run's seed, and evaluation scenes that are the same for all runs."""
    return draw(counts[0], side, (seed, 1)), draw(counts[1], side, (0, 2))
