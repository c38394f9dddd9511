"""COCO's images and annotations, from files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from podium.reference_runs.benchmarks.maskrcnn.data import MaskedScene
from podium.reference_runs.datasets.archives import read_image
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.maskrcnn.config import MaskRCNN

ANNOTATIONS = "annotations/instances_{}.json"
"""The file of a part of the dataset, `train2017` or `val2017`."""


class Files:
    """A folder of images, and their annotations in COCO's format.

    With `annotated`, images without an object are left out. Crowds are not trained.
    """

    def __init__(
        self, folder: Path, part: str, config: MaskRCNN, *, annotated: bool = False
    ) -> None:
        self.path, self.folder = folder / ANNOTATIONS.format(part), folder / part
        self.config = config
        self._of_image: dict[int, list[tuple[int, Any, list[float]]]] = {}
        try:
            self._read = json.loads(self.path.read_text(encoding="utf-8"))
            self._kinds = sorted(category["id"] for category in self._read["categories"])
            kinds = {number: index for index, number in enumerate(self._kinds)}
            for note in self._read["annotations"]:
                left, top, width, height = map(float, note["bbox"])
                # The size of a box without an area has no logarithm
                if not note["iscrowd"] and width >= 1 and height >= 1:
                    box = [left, top, left + width, top + height]
                    objects = self._of_image.setdefault(note["image_id"], [])
                    objects.append((kinds[note["category_id"]], note["segmentation"], box))
            self.images = [
                (image["id"], str(image["file_name"]), (int(image["height"]), int(image["width"])))
                for image in self._read["images"]
                if not annotated or image["id"] in self._of_image
            ]
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise DataMissing(
                f"{self.path} is not an annotation file in COCO's format: {error!r}"
            ) from None
        if len(self._kinds) > config.classes:
            raise DataMissing(
                f"{self.path} has {len(self._kinds)} categories; expected {config.classes}"
            )

    def __len__(self) -> int:
        return len(self.images)

    def original(self, index: int) -> tuple[int, int, int]:
        """The number of an image, and its height and width."""
        number, _, (height, width) = self.images[index]
        return number, height, width

    def category(self, kind: int) -> int:
        """The number of a class."""
        return int(self._kinds[kind])

    def truth(self) -> dict[str, Any]:
        """The annotations of the file, with crowds, which no detection counts against."""
        whole: dict[str, Any] = self._read
        return whole

    def scene(self, index: int) -> MaskedScene:
        """One scene, resized."""
        number, name, _ = self.images[index]
        image = read_image(self.folder / name)
        config = self.config
        size = resized((image.width, image.height), config.min_image_size, config.max_image_size)
        scale = np.array([size[0] / image.width, size[1] / image.height] * 2)
        notes = self._of_image.get(number, [])
        boxes = np.array([box for _, _, box in notes], np.float32).reshape(-1, 4)
        masks = [self._mask(name, outline, box) for _, outline, box in notes]
        points = config.mask_points
        return MaskedScene(
            np.asarray(image.resize(size, Image.Resampling.BILINEAR)),
            (boxes * scale).astype(np.float32),
            np.array([kind for kind, _, _ in notes], np.int64),
            np.array(masks, np.uint8).reshape(-1, points, points),
        )

    def _mask(self, name: str, outline: Any, box: list[float]) -> NDArray[np.uint8]:
        """An object on a grid that fills its box, (points, points), from its polygons."""
        from pycocotools import mask as rle  # type: ignore[import-untyped]

        points, corner = self.config.mask_points, np.array(box[:2])
        scale = points / (np.array(box[2:]) - corner)
        try:
            polygons = [
                ((np.array(polygon).reshape(-1, 2) - corner) * scale).reshape(-1).tolist()
                for polygon in outline
            ]
            parts = rle.frPyObjects(polygons, points, points)
            mask: NDArray[np.uint8] = rle.decode(rle.merge(parts))
        except (ValueError, TypeError, IndexError) as error:
            raise DataMissing(f"{self.path}: an outline in {name} is wrong: {error}") from None
        return mask


def resized(size: tuple[int, int], least: int, most: int) -> tuple[int, int]:
    """Width and height of a resized image: the shorter is `least`, the longer at most `most`."""
    scale = min(least / min(size), most / max(size))
    width, height = (max(1, round(length * scale)) for length in size)
    return width, height
