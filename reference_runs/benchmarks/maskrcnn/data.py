"""Batches of images with boxes, classes and masks; generated scenes at smoke scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch

from podium.reference_runs.benchmarks.maskrcnn.detector import Objects
from podium.reference_runs.modeling.detection.drawn import draw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.maskrcnn.config import MaskRCNN
    from podium.reference_runs.modeling.detection.drawn import SyntheticScenes

MEANS = (102.9801, 115.9465, 122.7717)
"""Means of blue, green and red, which the published weights of the backbone expect."""

MULTIPLE = 32
"""Sides of a batch of images are multiples of the stride of the coarsest stage."""


class Batch(NamedTuple):
    """Images (B, 3, H, W) as bytes, their heights and widths (B, 2), and their objects.

    Images are padded at the right and at the bottom.
    """

    images: Tensor
    sizes: Tensor
    boxes: Tensor
    classes: Tensor
    masks: Tensor
    draws: Tensor

    @property
    def objects(self) -> Objects:
        """The data about the objects that the losses need."""
        return Objects(self.boxes, self.classes, self.masks, self.draws)


@dataclass
class MaskedScene:
    """An image (H, W, 3), boxes (M, 4), classes (M,), and masks on grids that fill the boxes."""

    pixels: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    classes: NDArray[np.int64]
    masks: NDArray[np.uint8]


class Source(Protocol):
    """A source of scenes."""

    def __len__(self) -> int: ...

    def scene(self, index: int) -> MaskedScene:
        """One scene, resized."""
        ...


class TrueScenes(Source, Protocol):
    """A source of scenes whose objects are known to the judge of detections."""

    def original(self, index: int) -> tuple[int, int, int]:
        """The number of an image in `truth`, and its height and width before resizing."""
        ...

    def truth(self) -> dict[str, Any]:
        """All objects, in COCO's format."""
        ...

    def category(self, kind: int) -> int:
        """The number of a class in `truth`."""
        ...


class DrawnScenes:
    """Generated scenes in memory."""

    def __init__(self, scenes: SyntheticScenes, points: int) -> None:
        self.scenes, self.points = scenes, points

    def __len__(self) -> int:
        return len(self.scenes)

    def scene(self, index: int) -> MaskedScene:
        """One scene."""
        plain = self.scenes.scene(index)
        bitmaps = self.scenes.bitmaps(index)
        masks = [_cut(*pair, self.points) for pair in zip(bitmaps, plain.boxes, strict=True)]
        return MaskedScene(plain.pixels, plain.boxes, plain.classes, np.stack(masks))

    def original(self, index: int) -> tuple[int, int, int]:
        """The image's own index and size."""
        height, width = self.scenes.pixels.shape[1:3]
        return index, height, width

    def category(self, kind: int) -> int:
        """Categories count from 1."""
        return kind + 1

    def truth(self) -> dict[str, Any]:
        """The objects of all scenes, in COCO's format."""
        from pycocotools import mask as rle  # type: ignore[import-untyped]

        notes: list[dict[str, Any]] = []
        for index in range(len(self)):
            plain = self.scenes.scene(index)
            encoded = rle.encode(np.asfortranarray(self.scenes.bitmaps(index).transpose(1, 2, 0)))
            for box, kind, encoding in zip(plain.boxes, plain.classes, encoded, strict=True):
                notes.append(
                    {
                        "id": len(notes) + 1,
                        "image_id": index,
                        "category_id": self.category(int(kind)),
                        "bbox": [*box[:2].tolist(), *(box[2:] - box[:2]).tolist()],
                        "segmentation": encoding,
                        "area": float(rle.area(encoding)),
                        "iscrowd": 0,
                    }
                )
        height, width = self.scenes.pixels.shape[1:3]
        images = [{"id": number, "height": height, "width": width} for number in range(len(self))]
        kinds = sorted({note["category_id"] for note in notes})
        categories = [{"id": category} for category in kinds]
        return {"info": {}, "images": images, "categories": categories, "annotations": notes}


def _cut(bitmap: NDArray[np.uint8], box: NDArray[np.float32], points: int) -> NDArray[np.uint8]:
    """A bitmap at the points of a grid that fills a box, (points, points)."""
    share = (np.arange(points) + 0.5) / points
    columns, rows = (
        (box[axis] + share * (box[axis + 2] - box[axis])).astype(int) for axis in (0, 1)
    )
    part: NDArray[np.uint8] = bitmap[rows][:, columns]
    return part


def generated(config: MaskRCNN, seed: int) -> tuple[DrawnScenes, DrawnScenes]:
    """Training scenes by the run's seed, and evaluation scenes that are the same for all runs."""
    counts = (config.train_samples, (seed, 1)), (config.eval_samples, (0, 2))
    training, evaluation = (draw(count, config.min_image_size, of) for count, of in counts)
    if config.shuffled_labels:
        training.targets = np.random.default_rng([seed, 0x5FF]).permutation(len(training))
    return tuple(DrawnScenes(scenes, config.mask_points) for scenes in (training, evaluation))  # type: ignore[return-value]


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
        """Scenes by index, padded to the largest image and to the largest number of objects."""
        scenes, draws = zip(*(self._scene(index) for index in indices), strict=True)
        sizes = np.array([scene.pixels.shape[:2] for scene in scenes])
        height, width = -(-sizes.max(0) // MULTIPLE) * MULTIPLE
        most = max(1, *(len(scene.classes) for scene in scenes))
        points = scenes[0].masks.shape[-1]
        images = np.zeros((len(scenes), height, width, 3), np.uint8)
        boxes = np.zeros((len(scenes), most, 4), np.float32)
        classes = np.full((len(scenes), most), -1, np.int64)
        masks = np.zeros((len(scenes), most, points, points), np.uint8)
        for row, (scene, size) in enumerate(zip(scenes, sizes, strict=True)):
            count = len(scene.classes)
            images[row, : size[0], : size[1]] = scene.pixels
            boxes[row, :count], classes[row, :count] = scene.boxes, scene.classes
            masks[row, :count] = scene.masks
        tensors = map(torch.from_numpy, (boxes, classes, masks, np.array(draws, np.int64)))
        whole = torch.from_numpy(images).permute(0, 3, 1, 2)
        return Batch(whole, torch.from_numpy(sizes.astype(np.float32)), *tensors)

    def _scene(self, index: int) -> tuple[MaskedScene, int]:
        """A scene, and the random number that its anchors and regions are drawn by."""
        scene = self.source.scene(index)
        if self.seed is None:
            return scene, 0
        rng = np.random.default_rng([self.seed, self.epoch, index, 0xF11])
        turned, number = rng.random() < 0.5, int(rng.integers(2**62))
        return (mirrored(scene) if turned else scene), number


def mirrored(scene: MaskedScene) -> MaskedScene:
    """A scene with left and right exchanged."""
    left, top, right, bottom = scene.boxes.T
    width = scene.pixels.shape[1]
    boxes = np.stack((width - right, top, width - left, bottom), -1)
    return MaskedScene(scene.pixels[:, ::-1], boxes, scene.classes, scene.masks[..., ::-1])


def normalise(images_BCHW: Tensor, sizes_B2: Tensor) -> Tensor:
    """Blue, green and red less their means, from bytes of red, green and blue; 0 outside."""
    means = torch.tensor(MEANS, device=images_BCHW.device)[:, None, None]
    height, width = images_BCHW.shape[2:]
    y, x = (torch.arange(length, device=images_BCHW.device) for length in (height, width))
    rows, columns = y < sizes_B2[:, :1], x < sizes_B2[:, 1:]
    inside = rows[:, None, :, None] & columns[:, None, None]
    return (images_BCHW.flip(1).float() - means) * inside
