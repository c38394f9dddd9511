"""Classified images: generated textured outlines at smoke scale, otherwise ImageNet's files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from PIL import Image

from podium.reference_runs.datasets.archives import IMAGES, Member, archives, members, read_image
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

MEANS = (123.68, 116.78, 103.94)
"""Means of ImageNet's channels, as the reference subtracts them."""

SCALE = 58.0
"""Approximate standard deviation of a channel, so that inputs are of order 1."""

NOISE = 0.16
"""Noise of a generated image, relative to the range of brightness."""

OUTLINES, TEXTURES = 5, 2


class Source(Protocol):
    """A source of images."""

    labels: NDArray[np.int64]

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        ...


class SyntheticImages:
    """Images in memory as arrays, (N, side, side, 3)."""

    def __init__(self, pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
        self.pixels, self.labels = pixels, labels

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        return Image.fromarray(self.pixels[index])


class Files:
    """A folder with a folder of JPEG files for each class, the usual layout of ImageNet."""

    def __init__(self, folder: Path, classes: int) -> None:
        if not folder.is_dir():
            raise DataMissing(f"{folder} is not a folder; expected a folder of images per class")
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        if len(names) != classes:
            raise DataMissing(f"{folder} contains {len(names)} folders; expected {classes}")
        labeled_paths = [
            (path, label)
            for label, name in enumerate(names)
            for path in sorted((folder / name).glob("*.JPEG"))
        ]
        if not labeled_paths:
            raise DataMissing(f"the folders in {folder} contain no *.JPEG files")
        self.paths: list[Path] = [path for path, _ in labeled_paths]
        self.labels = np.array([label for _, label in labeled_paths], dtype=np.int64)

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        return read_image(self.paths[index])


class Shards:
    """A folder of tar archives with an image and its class in `.cls`, as in webdataset."""

    def __init__(self, folder: Path, classes: int) -> None:
        images: dict[tuple[Path, str], Member] = {}
        labels: dict[tuple[Path, str], int] = {}
        for member in (entry for path in archives(folder) for entry in members(path)):
            sample = member.archive, member.key
            if member.kind in IMAGES:
                images[sample] = member
            elif member.kind == "cls":
                labels[sample] = _label(member, classes)
        for sample, member in images.items():
            if sample not in labels:
                raise DataMissing(f"{member} has no class; {member.key}.cls is missing")
        if not images:
            raise DataMissing(f"the archives in {folder} contain no *.jpg files")
        self.members = [*images.values()]
        self.labels = np.array([labels[sample] for sample in images], dtype=np.int64)

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        return read_image(self.members[index])


def _label(member: Member, classes: int) -> int:
    text = member.read().decode("ascii", errors="replace").strip()
    if not text.isdigit() or int(text) >= classes:
        raise DataMissing(f"{member} is {text[:20]!r}; expected a class from 0 to {classes - 1}")
    return int(text)


def images_in(folder: Path, classes: int) -> Files | Shards:
    """The images of a folder, from archives if it has any; raises DataMissing."""
    return Shards(folder, classes) if archives(folder) else Files(folder, classes)


class Crops(torch.utils.data.Dataset["tuple[Tensor, Tensor]"]):
    """Training images: random crops with a random aspect ratio, mirrored half of the time.

    The crop depends on seed, epoch and image only, not on the process that loads it.
    """

    def __init__(self, source: Source, size: int, least_area: float, seed: int) -> None:
        self.source, self.size, self.least_area, self.seed = source, size, least_area, seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Crop differently in each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.source.labels)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Images (B, 3, size, size), not normalized, and labels (B,)."""
        images = np.stack([self._cut(index) for index in indices])
        labels = torch.from_numpy(self.source.labels[list(indices)])
        return torch.from_numpy(images).permute(0, 3, 1, 2), labels

    def _cut(self, index: int) -> NDArray[np.uint8]:
        rng = np.random.default_rng([self.seed, self.epoch, index, 0xC40])
        image = self.source.image(index)
        box = crop_box(rng, image.size, self.least_area)
        cut = image.resize((self.size, self.size), Image.Resampling.BILINEAR, box)
        pixels = np.asarray(cut)
        return pixels[:, ::-1] if rng.random() < 0.5 else pixels


def crop_box(
    rng: np.random.Generator, size: tuple[int, int], least_area: float
) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a random crop: area up to 1, aspect ratio 3:4 to 4:3.

    After ten draws that do not fit into the image, the whole image.
    """
    wide, high = size
    for _ in range(10):
        area = rng.uniform(least_area, 1.0) * wide * high
        aspect = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        width, height = float(np.sqrt(area * aspect)), float(np.sqrt(area / aspect))
        if width <= wide and height <= high:
            left, top = rng.uniform(0, wide - width), rng.uniform(0, high - height)
            return left, top, min(left + width, wide), min(top + height, high)
    return 0.0, 0.0, float(wide), float(high)


class Centres(torch.utils.data.Dataset["tuple[Tensor, Tensor]"]):
    """Evaluation images: the shorter side resized to 8/7 of the size, then a center crop.

    Generated images, which already have the right size, are unchanged.
    """

    def __init__(self, source: Source, size: int) -> None:
        self.source, self.size = source, size

    def __len__(self) -> int:
        return len(self.source.labels)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Images (B, 3, size, size), not normalized, and labels (B,)."""
        images = np.stack([self._middle(index) for index in indices])
        labels = torch.from_numpy(self.source.labels[list(indices)])
        return torch.from_numpy(images).permute(0, 3, 1, 2), labels

    def _middle(self, index: int) -> NDArray[np.uint8]:
        image = self.source.image(index)
        if image.size != (self.size, self.size):
            # 224 of 256: the usual resize to 256 and center crop
            side = min(image.size) * 7 / 8
            left, top = (image.width - side) / 2, (image.height - side) / 2
            box = (left, top, left + side, top + side)
            image = image.resize((self.size, self.size), Image.Resampling.BILINEAR, box)
        return np.asarray(image)


def normalise(images: Tensor) -> Tensor:
    """Convert bytes (B, 3, H, W) to normalized numbers."""
    means = torch.tensor(MEANS, device=images.device)[:, None, None]
    return (images.float() - means) / SCALE


def draw(count: int, side: int, seed: Sequence[int]) -> SyntheticImages:
    """Images of five outlines, plain or striped, at random positions, sizes, angles and colors."""
    rng = np.random.default_rng([0x5A9E, *seed])
    # The classes are balanced: guessing is correct for a tenth
    labels = rng.permutation(np.arange(count, dtype=np.int64) % (OUTLINES * TEXTURES))
    outline, striped = labels // TEXTURES, labels % TEXTURES
    u, v = _own_coordinates(rng, count, side)
    inside = np.choose(outline[:, None, None], _outlines(u, v))
    bands = np.sin(u * rng.uniform(5.0, 7.0, (count, 1, 1)) + rng.uniform(0, 6.3, (count, 1, 1)))
    second = inside & (striped[:, None, None] == 1) & (bands > 0)
    ground, shape, stripe = _colours(rng, count)
    pixels = np.where(inside[..., None], shape, ground)
    pixels = np.where(second[..., None], stripe, pixels)
    pixels = pixels + rng.normal(0, NOISE, pixels.shape)
    return SyntheticImages((pixels.clip(0, 1) * 255).astype(np.uint8), labels)


def _own_coordinates(
    rng: np.random.Generator, count: int, side: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each pixel in the shape's coordinates: rotated, and 1 at its radius."""
    axis = np.linspace(-1, 1, side)
    x, y = axis[None, None, :], axis[None, :, None]
    x, y = (coordinate - rng.uniform(-0.2, 0.2, (count, 1, 1)) for coordinate in (x, y))
    angle, radius = rng.uniform(-0.3, 0.3, (count, 1, 1)), rng.uniform(0.55, 0.75, (count, 1, 1))
    cos, sin = np.cos(angle) / radius, np.sin(angle) / radius
    return x * cos + y * sin, y * cos - x * sin


def _outlines(u: NDArray[np.float64], v: NDArray[np.float64]) -> list[NDArray[np.bool_]]:
    """Disc, square, triangle, cross and ring."""
    across, far = np.hypot(u, v), np.maximum(abs(u), abs(v))
    triangle = (v < 0.7) & (v > 2 * abs(u) - 1)
    cross = (np.minimum(abs(u), abs(v)) < 0.3) & (far < 1)
    return [across < 1, far < 0.9, triangle, cross, (across < 1) & (across > 0.55)]


def _colours(rng: np.random.Generator, count: int) -> tuple[NDArray[np.float64], ...]:
    """Ground (dark), shape (bright) and stripe (between), each with a random tint, (N, 1, 1, 3)."""
    shape = (count, 1, 1, 3)
    return rng.uniform(0, 0.35, shape), rng.uniform(0.65, 1, shape), rng.uniform(0.2, 0.5, shape)


def synthetic(
    counts: tuple[int, int], side: int, seed: int
) -> tuple[SyntheticImages, SyntheticImages]:
    """Training images by the run's seed, and evaluation images that are the same for all runs."""
    return draw(counts[0], side, (seed, 1)), draw(counts[1], side, (0, 2))
