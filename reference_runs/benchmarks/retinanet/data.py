"""Images with boxes: generated scenes at smoke scale, otherwise the benchmark's OpenImages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import torch
from PIL import Image

from podium.reference_runs.datasets.archives import Member, archives, members, read_image
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

MEANS, DEVIATIONS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Mean and deviation of ImageNet's channels, which the backbone was trained on."""

OBJECTS = 3
"""Maximum number of shapes in a generated scene."""

NOISE = 0.05


class Batch(NamedTuple):
    """Images (B, 3, side, side) as bytes; boxes (B, M, 4) in pixels and classes (B, M), -1 none."""

    images: Tensor
    boxes: Tensor
    classes: Tensor


@dataclass
class Scene:
    """One image, (side, side, 3), with its objects' boxes (M, 4) and classes (M,)."""

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    classes: NDArray[np.int64]


class Source(Protocol):
    """A source of scenes."""

    def __len__(self) -> int: ...

    def scene(self, index: int) -> Scene:
        """One scene."""
        ...


class SyntheticScenes:
    """Scenes in memory as arrays; `targets` has the index of the objects for each image."""

    def __init__(
        self, pixels: NDArray[np.uint8], boxes: NDArray[np.float32], classes: NDArray[np.int64]
    ) -> None:
        self.pixels, self.boxes, self.classes = pixels, boxes, classes
        self.targets = np.arange(len(pixels))

    def __len__(self) -> int:
        return len(self.pixels)

    def scene(self, index: int) -> Scene:
        """One scene."""
        of = self.targets[index]
        there = self.classes[of] >= 0
        return Scene(self.pixels[index], self.boxes[of][there], self.classes[of][there])


class Files:
    """A folder with `data/` and annotations in COCO's format; images are resized to a fixed side.

    `data/` has the images as files, or in tar archives under the same names.
    """

    def __init__(self, folder: Path, side: int, classes: int) -> None:
        self.path = folder / "labels" / "openimages-mlperf.json"
        self.folder, self.side = folder / "data", side
        try:
            read = json.loads(self.path.read_text(encoding="utf-8"))
            named = [(each["id"], str(each["file_name"])) for each in read["images"]]
            numbers = sorted(category["id"] for category in read["categories"])
            class_of = {number: at for at, number in enumerate(numbers)}
            self._of_image: dict[object, list[tuple[int, list[float]]]] = {}
            for note in read["annotations"]:
                left, top, width, height = map(float, note["bbox"])
                # COCO gives a corner and a size
                box = [left, top, left + width, top + height]
                found = self._of_image.setdefault(note["image_id"], [])
                found.append((class_of[note["category_id"]], box))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataMissing(
                f"{self.path} is not an annotation file in COCO's format: {error!r}"
            ) from None
        if len(numbers) > classes:
            raise DataMissing(f"{self.path} has {len(numbers)} categories; expected {classes}")
        self.images = [*self._found(named)]

    def _found(self, named: Sequence[tuple[object, str]]) -> Iterator[tuple[object, Path | Member]]:
        """The id and the path of each image."""
        packed = {each.name: each for path in archives(self.folder) for each in members(path)}
        for number, name in named:
            if packed and name not in packed:
                raise DataMissing(f"{self.folder}: no archive contains {name}")
            yield number, packed[name] if packed else self.folder / name

    def __len__(self) -> int:
        return len(self.images)

    def scene(self, index: int) -> Scene:
        """One scene, resized to the fixed side."""
        number, place = self.images[index]
        image = read_image(place)
        stretch = np.array([self.side / image.width, self.side / image.height] * 2)
        notes = self._of_image.get(number, [])
        boxes = np.array([box for _, box in notes], dtype=np.float32).reshape(-1, 4)
        classes = np.array([each for each, _ in notes], dtype=np.int64)
        resized = image.resize((self.side, self.side), Image.Resampling.BILINEAR)
        # The size of a box without an area has no logarithm
        wide = (boxes[:, 2:] > boxes[:, :2]).all(-1)
        scaled = (boxes * stretch).astype(np.float32)
        return Scene(np.asarray(resized), scaled[wide], classes[wide])


class Scenes(torch.utils.data.Dataset[Batch]):
    """Batches of scenes; training ones are mirrored half of the time, by seed, epoch and index."""

    def __init__(self, source: Source, seed: int | None) -> None:
        self.source, self.seed, self.epoch = source, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Mirror other scenes in each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Scenes by index; objects are padded with class -1 to the largest number in the batch."""
        scenes = [self._scene(index) for index in indices]
        most = max(1, *(len(scene.classes) for scene in scenes))
        boxes = np.zeros((len(scenes), most, 4), dtype=np.float32)
        classes = np.full((len(scenes), most), -1, dtype=np.int64)
        for at, scene in enumerate(scenes):
            boxes[at, : len(scene.classes)] = scene.boxes
            classes[at, : len(scene.classes)] = scene.classes
        images = torch.from_numpy(np.stack([scene.pixels for scene in scenes]))
        return Batch(images.permute(0, 3, 1, 2), torch.from_numpy(boxes), torch.from_numpy(classes))

    def _scene(self, index: int) -> Scene:
        scene = self.source.scene(index)
        if self.seed is None:
            return scene
        if np.random.default_rng([self.seed, self.epoch, index, 0xF11]).random() < 0.5:
            return scene
        left, top, right, bottom = scene.boxes.T
        side = scene.pixels.shape[1]
        boxes = np.stack((side - right, top, side - left, bottom), -1)
        return Scene(np.ascontiguousarray(scene.pixels[:, ::-1]), boxes, scene.classes)


def normalise(images: Tensor) -> Tensor:
    """Convert bytes (B, 3, H, W) to normalized numbers."""
    means, deviations = (
        torch.tensor(each, device=images.device)[:, None, None] for each in (MEANS, DEVIATIONS)
    )
    return (images.float() / 255 - means) / deviations


def draw(count: int, side: int, seed: Sequence[int]) -> SyntheticScenes:
    """Scenes with one to three discs, squares or triangles of random position, size and color."""
    rng = np.random.default_rng([0xDE7, *seed])
    pixels = np.broadcast_to(rng.uniform(0, 0.35, (count, 1, 1, 3)), (count, side, side, 3))
    boxes = np.zeros((count, OBJECTS, 4), dtype=np.float32)
    classes = np.full((count, OBJECTS), -1, dtype=np.int64)
    many = rng.integers(1, OBJECTS + 1, count)
    for at in range(OBJECTS):
        there = many > at
        boxes[:, at], kind = _boxes(rng, count, side), rng.integers(0, 3, count)
        # A hidden shape cannot be found, which would limit the precision
        there &= ~_covers_another(boxes[:, at], boxes[:, :at], classes[:, :at] >= 0)
        classes[:, at] = np.where(there, kind, -1)
        inside = _inside(boxes[:, at], kind, side) & there[:, None, None]
        colour = rng.uniform(0.55, 1, (count, 1, 1, 3))
        pixels = np.where(inside[..., None], colour, pixels)
    pixels = pixels + rng.normal(0, NOISE, pixels.shape)
    return SyntheticScenes((pixels.clip(0, 1) * 255).astype(np.uint8), boxes, classes)


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
    at = np.arange(side) + 0.5
    left, top, right, bottom = box.T[:, :, None]
    u = (2 * at - left - right)[:, None, :] / (right - left)[:, None]
    v = (2 * at - top - bottom)[:, :, None] / (bottom - top)[:, None]
    disc, square = u**2 + v**2 < 1, np.maximum(abs(u), abs(v)) < 1
    triangle = (v < 1) & (v > 2 * abs(u) - 1)
    return np.asarray(np.choose(kind[:, None, None], [disc, square, triangle]))


def synthetic(
    counts: tuple[int, int], side: int, seed: int
) -> tuple[SyntheticScenes, SyntheticScenes]:
    """Training scenes by the run's seed, and evaluation scenes that are the same for all runs."""
    return draw(counts[0], side, (seed, 1)), draw(counts[1], side, (0, 2))
