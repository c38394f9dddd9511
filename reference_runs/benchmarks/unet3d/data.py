"""Volumes with voxel classes: generated ellipsoids at smoke scale, otherwise KiTS19's cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import torch

from podium.reference_runs.engine.arrays import mapped_array
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.unet3d.config import UNet3D
    from podium.reference_runs.engine.samples import DatasetSize

PAD = -2.2
"""Value outside of a volume: air, in normalized units."""

NOISE, SPECKLE = 0.34, 0.05
"""Noise of a generated volume: deviation of voxels, and share with another class's brightness."""

FLIP, BRIGHTEN, BLUR = 1 / 3, 0.1, 0.1
"""Probabilities of mirroring each axis, of scaling brightness, and of adding noise."""


BRIGHTER = 1.7, 2.3
"""Range of the brightness factor: the reference adds a factor of 0.7 to 1.3 to one."""


class Case(NamedTuple):
    """A volume (D, H, W), its voxels' classes, and the flat indices of foreground voxels."""

    image: NDArray[np.float32]
    label: NDArray[np.uint8]
    foreground: NDArray[np.int64]


class Source(Protocol):
    """A source of volumes."""

    def __len__(self) -> int: ...

    def case(self, index: int) -> Case:
        """One volume."""
        ...


class SyntheticVolumes:
    """Volumes in memory as arrays, (N, D, H, W)."""

    def __init__(self, images: NDArray[np.float32], labels: NDArray[np.uint8]) -> None:
        self.cases = [_case(*pair) for pair in zip(images, labels, strict=True)]

    def __len__(self) -> int:
        return len(self.cases)

    def case(self, index: int) -> Case:
        """One volume."""
        return self.cases[index]

    def shuffle(self, rng: np.random.Generator) -> None:
        """Give every volume the classes of another."""
        others = rng.permutation(len(self))
        pairs = zip(self.cases, (self.cases[other] for other in others), strict=True)
        self.cases = [Case(mine.image, other.label, other.foreground) for mine, other in pairs]


class Files:
    """Preprocessed cases, `case_00012_x.npy` with `case_00012_y.npy`, (1, D, H, W) each."""

    def __init__(self, folder: Path, numbers: Sequence[int], classes: int) -> None:
        self.folder, self.numbers, self.classes = folder, numbers, classes

    def __len__(self) -> int:
        return len(self.numbers)

    def case(self, index: int) -> Case:
        """One volume; raises DataMissing."""
        paths = [_path(self.folder, self.numbers[index], kind) for kind in "xy"]
        image, label = (_volume(path) for path in paths)
        if image.shape != label.shape:
            raise DataMissing(f"{paths[1]} has shape {label.shape}; expected {image.shape}")
        if label.size and not 0 <= label.min() <= label.max() < self.classes:
            raise DataMissing(
                f"{paths[1]} contains classes {label.min()} to {label.max()};"
                f" expected 0 to {self.classes - 1}"
            )
        return _case(image.astype(np.float32), label.astype(np.uint8))

    def __getitems__(self, indices: Sequence[int]) -> list[Case]:
        """Volumes by index."""
        return [self.case(index) for index in indices]


def _path(folder: Path, number: int, kind: str) -> Path:
    return folder / f"case_{number:05d}_{kind}.npy"


def _volume(path: Path) -> NDArray[Any]:
    """A volume of a file with one channel, (D, H, W)."""
    volume = mapped_array(path)
    if volume.ndim != 4 or len(volume) != 1 or not volume.size:
        raise DataMissing(f"{path} has shape {volume.shape}; expected (1, D, H, W)")
    channel: NDArray[Any] = volume[0]
    return channel


def _case(image: NDArray[np.float32], label: NDArray[np.uint8]) -> Case:
    return Case(image, label, np.flatnonzero(label))


def from_files(folder: Path, config: UNet3D, expected: DatasetSize) -> tuple[Files, Files]:
    """Training and evaluation cases; raises DataMissing if a file or a case is missing.

    All cases in `folder` except those in `evaluation_cases.txt` are for training.
    """
    path = folder / "evaluation_cases.txt"
    try:
        held_out = sorted({int(line) for line in path.read_text(encoding="utf-8").split()})
    except (OSError, ValueError) as error:
        raise DataMissing(f"{path} is not a list of case numbers: {error}") from None
    expected.check_evaluation(path, len(held_out), "case numbers")
    there = {int(match[1]) for entry in folder.iterdir() if (match := _CASE.fullmatch(entry.name))}
    for number in sorted(there | {*held_out}):
        for kind in "xy":
            if not _path(folder, number, kind).is_file():
                raise DataMissing(f"{_path(folder, number, kind)} is missing")
    training = sorted(there - {*held_out})
    expected.check_training(folder, len(training), f"cases next to those of {path.name}")
    classes = config.classes
    return Files(folder, training, classes), Files(folder, held_out, classes)


_CASE = re.compile(r"case_(\d{5})_[xy]\.npy")


class Patches(torch.utils.data.Dataset["tuple[Tensor, Tensor]"]):
    """Random patches of the training volumes, mirrored and sometimes changed in brightness.

    The augmentation of a volume depends on seed, epoch and volume only.
    """

    def __init__(self, source: Source, config: UNet3D, seed: int) -> None:
        self.source, self.config, self.seed = source, config, seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draw the random numbers of every volume in this epoch."""
        self.epoch = epoch
        self.chances = np.random.default_rng([self.seed, epoch, 0x3D]).random((len(self), 11))

    def __len__(self) -> int:
        return len(self.source)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Patches (B, 1, D, H, W) and their classes (B, D, H, W)."""
        images, labels = zip(*(self._patch(index) for index in indices), strict=True)
        wanted = torch.from_numpy(np.stack(labels).astype(np.int64))
        return torch.from_numpy(np.stack(images))[:, None], wanted

    def _patch(self, index: int) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        config, chance = self.config, self.chances[index]
        case = padded(self.source.case(index), config.training_input_shape)
        corner = self._corner(case, chance[:5])
        part = tuple(
            slice(begin, begin + size)
            for begin, size in zip(corner, config.training_input_shape, strict=True)
        )
        steps = tuple(slice(None, None, -1 if draw < FLIP else 1) for draw in chance[5:8])
        image, label = case.image[part][steps], case.label[part][steps]
        if chance[8] < BRIGHTEN:
            image = image * np.float32(BRIGHTER[0] + (BRIGHTER[1] - BRIGHTER[0]) * chance[9])
        if chance[10] < BLUR:
            rng = np.random.default_rng([self.seed, self.epoch, index, 0x3D])
            noise = rng.normal(0, rng.uniform(0, 0.1), image.shape)
            image = image + noise.astype(np.float32)
        return image, label

    def _corner(self, case: Case, chance: NDArray[np.float64]) -> list[int]:
        """The corner of the patch: around a voxel of kidney or tumor, or anywhere."""
        shape, sizes = case.image.shape, self.config.training_input_shape
        room = [whole - size for whole, size in zip(shape, sizes, strict=True)]
        if chance[0] < self.config.oversampling and len(case.foreground):
            voxel = case.foreground[int(chance[1] * len(case.foreground))]
            coordinates = np.unravel_index(voxel, shape)
            around = zip(coordinates, sizes, room, strict=True)
            return [min(max(int(a) - size // 2, 0), most) for a, size, most in around]
        return [int(c * (most + 1)) for c, most in zip(chance[2:], room, strict=True)]


def padded(case: Case, least: tuple[int, int, int]) -> Case:
    """The case, padded at its ends if it is smaller than a patch."""
    short = [(0, max(0, want - have)) for want, have in zip(least, case.image.shape, strict=True)]
    if not any(after for _, after in short):
        return case
    # With air, not 0, which is the mean brightness in normalized units
    return _case(np.pad(case.image, short, constant_values=PAD), np.pad(case.label, short))


def draw(count: int, side: int, seed: Sequence[int]) -> SyntheticVolumes:
    """Two ellipsoids in each volume, a brighter blob within one of them, noise and speckles.

    Speckles have the brightness of another class, so a voxel's own value is not sufficient.
    """
    rng = np.random.default_rng([0x3D0, *seed])
    axes = np.meshgrid(*[np.linspace(-1, 1, side)] * 3, indexing="ij")
    grid = np.stack(axes, -1)[None]
    labels = np.zeros((count, side, side, side), dtype=np.uint8)
    sides = np.array([[-0.45, 0, 0], [0.45, 0, 0]])[:, None]
    centres = sides + rng.uniform(-0.12, 0.12, (2, count, 3))
    for centre in centres:
        radii = rng.uniform((0.36, 0.5, 0.5), (0.46, 0.75, 0.75), (count, 3))
        labels[_within(grid, centre, radii)] = 1
    centre = np.where(rng.random((count, 1)) < 0.5, *centres) + rng.uniform(-0.1, 0.1, (count, 3))
    labels[_within(grid, centre, rng.uniform(0.28, 0.36, (count, 3)))] = 2
    speckled = rng.random(labels.shape) < SPECKLE
    seen = np.where(speckled, rng.integers(0, 3, labels.shape), labels)
    images = seen - 1 + rng.normal(0, NOISE, labels.shape)
    return SyntheticVolumes(images.astype(np.float32), labels)


def _within(
    grid: NDArray[np.float64], centre: NDArray[np.float64], radii: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """The voxels inside an ellipsoid, one in each volume."""
    place = (None, None, None)
    away = (grid - centre[:, *place]) / radii[:, *place]
    return np.asarray((away**2).sum(-1) < 1)


def synthetic(
    counts: tuple[int, int], side: int, seed: int
) -> tuple[SyntheticVolumes, SyntheticVolumes]:
    """Training volumes by the run's seed, and evaluation volumes that are the same for all runs."""
    return draw(counts[0], side, (seed, 1)), draw(counts[1], side, (0, 2))
