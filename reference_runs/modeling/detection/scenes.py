"""Images with boxes: batches, files in COCO's format."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

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
    crowds: NDArray[np.bool_] | None = None
    """Whether each box encloses a crowd, which evaluations ignore; None if no box does."""

    def mirrored(self) -> Scene:
        """The scene with left and right exchanged."""
        left, top, right, bottom = self.boxes.T
        width = self.pixels.shape[1]
        boxes = np.stack((width - right, top, width - left, bottom), -1)
        return replace(self, pixels=np.ascontiguousarray(self.pixels[:, ::-1]), boxes=boxes)


class Source(Protocol):
    """A source of scenes."""

    def __len__(self) -> int: ...

    def scene(self, index: int) -> Scene:
        """One scene."""
        ...


class Files:
    """A folder of images and a file of annotations in COCO's format.

    The folder has the images as files, or in tar archives under the same names. Images are resized
    to a square with the given side, if any. Unless `empty`, images without objects are left out.
    """

    def __init__(
        self,
        annotations: Path,
        folder: Path,
        classes: int,
        *,
        side: int | None = None,
        empty: bool = True,
    ) -> None:
        self.path, self.folder, self.side = annotations, folder, side
        try:
            read = json.loads(self.path.read_text(encoding="utf-8"))
            named = [(image["id"], str(image["file_name"])) for image in read["images"]]
            numbers = sorted(category["id"] for category in read["categories"])
            self._of_image = _notes(read["annotations"], numbers)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataMissing(
                f"{self.path} is not an annotation file in COCO's format: {error!r}"
            ) from None
        if len(numbers) > classes:
            raise DataMissing(f"{self.path} has {len(numbers)} categories; expected {classes}")
        chosen = [image for image in named if empty or image[0] in self._of_image]
        self.images = [*self._found(chosen)]

    def _found(self, named: Sequence[tuple[object, str]]) -> Iterator[tuple[object, Path | Member]]:
        """The id and the path of each image."""
        packed = {member.name: member for path in archives(self.folder) for member in members(path)}
        for number, name in named:
            if packed and name not in packed:
                raise DataMissing(f"{self.folder}: no archive contains {name}")
            yield number, packed[name] if packed else self.folder / name

    def __len__(self) -> int:
        return len(self.images)

    def scene(self, index: int) -> Scene:
        """One scene, resized if the files have a fixed side."""
        number, place = self.images[index]
        image = read_image(place)
        notes = self._of_image.get(number, [])
        boxes = np.array([note.box for note in notes], dtype=np.float32).reshape(-1, 4)
        classes = np.array([note.kind for note in notes], dtype=np.int64)
        crowds = np.array([note.crowd for note in notes], dtype=np.bool_)
        # The size of a box without an area has no logarithm
        wide = (boxes[:, 2:] > boxes[:, :2]).all(-1)
        if self.side is not None:
            stretch = np.array([self.side / image.width, self.side / image.height] * 2)
            boxes = (boxes * stretch).astype(np.float32)
            image = image.resize((self.side, self.side), Image.Resampling.BILINEAR)
        return Scene(np.asarray(image), boxes[wide], classes[wide], crowds[wide])


class _Note(NamedTuple):
    """An object of an image."""

    kind: int
    box: list[float]
    crowd: bool


def _notes(annotations: Sequence[Any], numbers: Sequence[int]) -> dict[object, list[_Note]]:
    """The objects of each image, by its id; `numbers` has the ids of the classes in order."""
    class_of = {number: index for index, number in enumerate(numbers)}
    of_image: dict[object, list[_Note]] = {}
    for note in annotations:
        left, top, width, height = map(float, note["bbox"])
        # COCO gives a corner and a size
        box = [left, top, left + width, top + height]
        parsed = _Note(class_of[note["category_id"]], box, bool(note.get("iscrowd", 0)))
        of_image.setdefault(note["image_id"], []).append(parsed)
    return of_image


def batch_of(scenes: Sequence[Scene]) -> Batch:
    """A batch; objects are padded with class -1 to the largest number in the batch."""
    most = max(1, *(len(scene.classes) for scene in scenes))
    boxes = np.zeros((len(scenes), most, 4), dtype=np.float32)
    classes = np.full((len(scenes), most), -1, dtype=np.int64)
    for index, scene in enumerate(scenes):
        boxes[index, : len(scene.classes)] = scene.boxes
        classes[index, : len(scene.classes)] = scene.classes
    images = torch.from_numpy(np.stack([scene.pixels for scene in scenes]))
    return Batch(images.permute(0, 3, 1, 2), torch.from_numpy(boxes), torch.from_numpy(classes))


class Scenes(torch.utils.data.Dataset[Batch]):
    """Batches of scenes; training ones change in each epoch, by `changed`."""

    def __init__(self, source: Source, seed: int | None) -> None:
        """Scenes for training with a seed, for evaluation with None."""
        self.source, self.seed, self.epoch = source, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Change the scenes in another way in each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Scenes by index."""
        return batch_of([self._scene(index) for index in indices])

    def _scene(self, index: int) -> Scene:
        scene = self.source.scene(index)
        if self.seed is None:
            return scene
        return self.changed(scene, np.random.default_rng([self.seed, self.epoch, index, 0xF11]))

    def changed(self, scene: Scene, rng: np.random.Generator) -> Scene:
        """A training scene: mirrored half of the time."""
        return scene if rng.random() < 0.5 else scene.mirrored()


def normalise(images: Tensor) -> Tensor:
    """Convert bytes (B, 3, H, W) to normalized numbers."""
    means, deviations = (
        torch.tensor(statistics, device=images.device)[:, None, None]
        for statistics in (MEANS, DEVIATIONS)
    )
    return (images.float() / 255 - means) / deviations
