"""Images with a class: drawn outlines with a texture at smoke scale, ImageNet's files else."""

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
"""Of ImageNet's channels, as the reference subtracts them."""

SCALE = 58.0
"""Roughly a channel's standard deviation, so that inputs are near 1."""

NOISE = 0.16
"""Of a drawn image, as a share of the range of brightness."""

OUTLINES, TEXTURES = 5, 2


class Source(Protocol):
    """Where images come from."""

    labels: NDArray[np.int64]

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        ...


class SyntheticImages:
    """Images that are held as numbers, (N, side, side, 3)."""

    def __init__(self, pixels: NDArray[np.uint8], labels: NDArray[np.int64]) -> None:
        self.pixels, self.labels = pixels, labels

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        return Image.fromarray(self.pixels[index])


class Files:
    """A folder with a folder of JPEG files for each class, as ImageNet is commonly unpacked."""

    def __init__(self, folder: Path, classes: int) -> None:
        if not folder.is_dir():
            raise DataMissing(f"{folder} is no folder; must hold a folder of images for each class")
        names = sorted(path.name for path in folder.iterdir() if path.is_dir())
        if len(names) != classes:
            raise DataMissing(f"{folder} holds {len(names)} folders; expected {classes}")
        found = [
            (path, label)
            for label, name in enumerate(names)
            for path in sorted((folder / name).glob("*.JPEG"))
        ]
        if not found:
            raise DataMissing(f"the folders in {folder} hold no file that is named *.JPEG")
        self.paths: list[Path] = [path for path, _ in found]
        self.labels = np.array([label for _, label in found], dtype=np.int64)

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        return read_image(self.paths[index])


class Shards:
    """A folder of tar archives with an image and its class in `.cls`, as webdataset has them."""

    def __init__(self, folder: Path, classes: int) -> None:
        found: dict[tuple[Path, str], Member] = {}
        labels: dict[tuple[Path, str], int] = {}
        for member in (each for path in archives(folder) for each in members(path)):
            sample = member.archive, member.key
            if member.kind in IMAGES:
                found[sample] = member
            elif member.kind == "cls":
                labels[sample] = _label(member, classes)
        for sample, member in found.items():
            if sample not in labels:
                raise DataMissing(f"{member} has no class; {member.key}.cls is missing")
        if not found:
            raise DataMissing(f"the archives in {folder} hold no file that is named *.jpg")
        self.members = [*found.values()]
        self.labels = np.array([labels[sample] for sample in found], dtype=np.int64)

    def image(self, index: int) -> Image.Image:
        """One image, in RGB."""
        return read_image(self.members[index])


def _label(member: Member, classes: int) -> int:
    text = member.read().decode("ascii", errors="replace").strip()
    if not text.isdigit() or int(text) >= classes:
        raise DataMissing(f"{member} holds {text[:20]!r}; expected a class from 0 to {classes - 1}")
    return int(text)


def images_in(folder: Path, classes: int) -> Files | Shards:
    """The images of a folder, in archives where it has any; raises DataMissing."""
    return Shards(folder, classes) if archives(folder) else Files(folder, classes)


class Crops(torch.utils.data.Dataset["tuple[Tensor, Tensor]"]):
    """Training images: a random part at a random aspect, mirrored every other time.

    What is cut follows from seed, epoch and image alone, not from who loads it with what.
    """

    def __init__(self, source: Source, size: int, least_area: float, seed: int) -> None:
        self.source, self.size, self.least_area, self.seed = source, size, least_area, seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Cut differently in each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.source.labels)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Images (B, 3, size, size), not normalised, and labels (B,)."""
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
    """Left, top, right and bottom of a random part: area to 1, aspect 3:4 to 4:3.

    After ten draws that do not fit in the image, the whole image.
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
    """Evaluation images: the shorter side to 8/7 of the size, then the middle.

    Drawn images, which have the size already, are taken as they are.
    """

    def __init__(self, source: Source, size: int) -> None:
        self.source, self.size = source, size

    def __len__(self) -> int:
        return len(self.source.labels)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Images (B, 3, size, size), not normalised, and labels (B,)."""
        images = np.stack([self._middle(index) for index in indices])
        labels = torch.from_numpy(self.source.labels[list(indices)])
        return torch.from_numpy(images).permute(0, 3, 1, 2), labels

    def _middle(self, index: int) -> NDArray[np.uint8]:
        image = self.source.image(index)
        if image.size != (self.size, self.size):
            # 224 of 256: what the usual resize to 256 and central crop leave of an image
            side = min(image.size) * 7 / 8
            left, top = (image.width - side) / 2, (image.height - side) / 2
            box = (left, top, left + side, top + side)
            image = image.resize((self.size, self.size), Image.Resampling.BILINEAR, box)
        return np.asarray(image)


def normalise(images: Tensor) -> Tensor:
    """Bytes (B, 3, H, W) to numbers around 0."""
    means = torch.tensor(MEANS, device=images.device)[:, None, None]
    return (images.float() - means) / SCALE


def draw(count: int, side: int, seed: Sequence[int]) -> SyntheticImages:
    """Images of five outlines, plain or striped, at random places, sizes, angles and colours."""
    rng = np.random.default_rng([0x5A9E, *seed])
    # As many images of each class: guessing then gets a tenth right
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
    """Each pixel as seen from the shape: turned, and 1 at its radius."""
    axis = np.linspace(-1, 1, side)
    x, y = axis[None, None, :], axis[None, :, None]
    x, y = (each - rng.uniform(-0.2, 0.2, (count, 1, 1)) for each in (x, y))
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
    """Ground (dark), shape (bright) and stripe (between), each of a random tint, (N, 1, 1, 3)."""
    shape = (count, 1, 1, 3)
    return rng.uniform(0, 0.35, shape), rng.uniform(0.65, 1, shape), rng.uniform(0.2, 0.5, shape)


def synthetic(
    counts: tuple[int, int], side: int, seed: int
) -> tuple[SyntheticImages, SyntheticImages]:
    """Training images by the run's seed, and evaluation images that are the same for all runs."""
    return draw(counts[0], side, (seed, 1)), draw(counts[1], side, (0, 2))
