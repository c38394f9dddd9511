"""Training images: cropped around their objects, mirrored, resized, with changed colors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageEnhance

from podium.reference_runs.modeling.detection.scenes import Scene, Scenes, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

WHOLE = -1
"""In place of an overlap: the whole image."""
OVERLAPS = (WHOLE, 0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Minimum overlap of a crop with every object, of which one is drawn for each image."""
SIDES, RATIO = (0.3, 1.0), 2.0
"""Sides of a crop, as shares of the image's, and the largest ratio of them."""

BRIGHTNESS, CONTRAST, SATURATION, HUE = 0.125, 0.5, 0.5, 0.05
"""Largest changes of the colors; hue is a share of the circle."""


class Crops(Scenes):
    """Batches of scenes; training ones are changed by seed, epoch and index."""

    def __init__(self, source: Source, seed: int | None, side: int, attempts: int) -> None:
        super().__init__(source, seed)
        self.side, self.attempts = side, attempts

    def changed(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """A training scene with the side of the network's input."""
        scene = super().changed(cropped(scene, rng, self.attempts), rng)
        height, width = scene.pixels.shape[:2]
        image = Image.fromarray(scene.pixels)
        image = image.resize((self.side, self.side), Image.Resampling.BILINEAR)
        stretch = np.array([self.side / width, self.side / height] * 2)
        boxes = (scene.boxes * stretch).astype(np.float32)
        return replace(scene, pixels=np.asarray(colored(image, rng)), boxes=boxes)


def cropped(scene: Scene, rng: np.random.Generator, attempts: int) -> Scene:
    """A random crop that overlaps every object enough, with the objects whose centers it contains.

    If no crop is found in so many attempts, another minimum overlap is drawn.
    """
    if not len(scene.boxes):
        return scene
    height, width = scene.pixels.shape[:2]
    scale = np.array([width, height] * 2)
    boxes = scene.boxes / scale
    while (least := OVERLAPS[rng.integers(len(OVERLAPS))]) != WHOLE:
        for _ in range(attempts):
            crop = _crop(rng)
            if crop is not None and (inside := _inside(boxes, crop, least)) is not None:
                return _cut(scene, crop, inside)
    return scene


def _crop(rng: np.random.Generator) -> NDArray[np.float64] | None:
    """A crop in shares of the image's sides, (4,); None if it is too wide or too high."""
    sides = rng.uniform(*SIDES, 2)
    if not 1 / RATIO <= sides[0] / sides[1] <= RATIO:
        return None
    corner = rng.uniform(0, 1 - sides)
    return np.concatenate((corner, corner + sides))


def _inside(
    boxes: NDArray[np.float64], crop: NDArray[np.float64], least: float
) -> NDArray[np.bool_] | None:
    """Which boxes have their center in the crop; None if none has, or one overlaps too little."""
    begin, end = np.maximum(boxes[:, :2], crop[:2]), np.minimum(boxes[:, 2:], crop[2:])
    common = (end - begin).clip(min=0).prod(1)
    union = (boxes[:, 2:] - boxes[:, :2]).prod(1) + (crop[2:] - crop[:2]).prod() - common
    if least > 0 and (common <= least * union).any():
        return None
    center = (boxes[:, :2] + boxes[:, 2:]) / 2
    inside = np.asarray(((center > crop[:2]) & (center < crop[2:])).all(1))
    return inside if inside.any() else None


def _cut(scene: Scene, crop: NDArray[np.float64], inside: NDArray[np.bool_]) -> Scene:
    """The part of a scene in a crop, whose edges are rounded down to whole pixels."""
    height, width = scene.pixels.shape[:2]
    left, top, right, bottom = (crop * ([width, height] * 2)).astype(int)
    low, high = (np.array(corner * 2) for corner in ((left, top), (right, bottom)))
    boxes = scene.boxes[inside].clip(low, high) - low
    crowds = None if scene.crowds is None else scene.crowds[inside]
    pixels = scene.pixels[top:bottom, left:right]
    return Scene(pixels, boxes.astype(np.float32), scene.classes[inside], crowds)


def colored(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """An image with other brightness, contrast, saturation and hue, in random order."""
    kinds = (
        (ImageEnhance.Brightness, BRIGHTNESS),
        (ImageEnhance.Contrast, CONTRAST),
        (ImageEnhance.Color, SATURATION),
    )
    changes: list[Callable[[Image.Image], Image.Image]] = [
        partial(_enhanced, kind, rng.uniform(1 - most, 1 + most)) for kind, most in kinds
    ]
    turn = rng.uniform(-HUE, HUE)
    changes.append(partial(_turned, turn))
    for index in rng.permutation(len(changes)):
        image = changes[index](image)
    return image


def _enhanced(kind: Callable[[Image.Image], Any], factor: float, image: Image.Image) -> Image.Image:
    """An image with one property multiplied by a factor."""
    changed: Image.Image = kind(image).enhance(factor)
    return changed


def _turned(turn: float, image: Image.Image) -> Image.Image:
    """An image with its hues turned by a share of the circle."""
    hue, saturation, value = image.convert("HSV").split()
    moved = (np.asarray(hue).astype(int) + int(turn * 255)) % 256
    hue = Image.fromarray(moved.astype(np.uint8))
    return Image.merge("HSV", (hue, saturation, value)).convert("RGB")
