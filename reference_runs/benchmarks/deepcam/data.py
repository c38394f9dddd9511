"""Weather maps with a class for each point: generated at smoke scale, otherwise CAM5's.

Both are in a folder: `train` and `validation` with pairs of `data-NAME.npy` (height, width,
channels) and `label-NAME.npy` (height, width), and `stats.npz` with each channel's `minval` and
`maxval` over all maps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np
import torch

from podium.reference_runs.benchmarks.deepcam.config import CLASSES
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.deepcam.config import DeepCam

    Maps = NDArray[np.float32]
    Labels = NDArray[np.uint8]

TASK_SEED = 23
SWIRLS, PLUMES = 1, 1
"""Maximum number of features per map, and of decoys of each kind."""
CONTRAST = 3.0
"""Peak wind or moisture in a feature, where the background has a variance of 1."""


def write(config: DeepCam, folder: Path, seed: int) -> None:
    """Draw training maps by the seed and evaluation maps that are the same for all seeds."""
    training, labels = draw(config, config.train_samples, np.random.default_rng([seed, 0xDC]))
    if config.shuffled_labels:
        labels = np.random.default_rng([seed, 0xDD]).permutation(labels)
    _write(folder / "train", training, labels)
    rng = np.random.default_rng(TASK_SEED)
    _write(folder / "validation", *draw(config, config.eval_samples, rng))
    points = (0, 1, 2)
    np.savez(folder / "stats.npz", minval=training.min(points), maxval=training.max(points))


def _write(folder: Path, maps: Maps, labels: Labels) -> None:
    folder.mkdir()
    for number, (weather_map, label) in enumerate(zip(maps, labels, strict=True)):
        np.save(folder / f"data-{number:05d}.npy", weather_map)
        np.save(folder / f"label-{number:05d}.npy", label)


def draw(config: DeepCam, count: int, rng: np.random.Generator) -> tuple[Maps, Labels]:
    """Draw maps: winds in two channels, pressure and moisture, with storms and decoys.

    A cyclone is a swirl in one direction; swirls in the other direction are background. A river is
    a long strip of moisture; round wet spots are background. So no single channel, point or small
    neighborhood identifies the class.
    """
    height, width = config.height, config.width
    maps = _weather((count, height, width, config.channels), rng)
    labels = np.zeros((count, height, width), np.uint8)
    y, x = (grid[None].astype(np.float32) for grid in np.mgrid[:height, :width])
    for number in range(2 * PLUMES):
        along, across, strength = _strip(y, x, count, rng, round_spot=number >= PLUMES)
        strip = np.exp(-0.5 * (along**4 + across**2))
        maps[..., 3] += CONTRAST * strength * strip
        if number < PLUMES:
            labels[(along**2 < 1) & (across**2 < 1.5) & (strength > 0)] = 2
    for number in range(2 * SWIRLS):
        dy, dx, strength = _centres(y, x, count, rng, (3.5, 5.0))
        swirl = np.exp(-0.5 * (dy**2 + dx**2)) * strength * CONTRAST
        # Decoys turn the other way, so that a drop in pressure alone does not identify a cyclone
        turn = 1 if number < SWIRLS else -1
        maps[..., 0] += 1.6 * turn * dy * swirl
        maps[..., 1] -= 1.6 * turn * dx * swirl
        maps[..., 2] -= swirl
        if number < SWIRLS:
            labels[(dy**2 + dx**2 < 2) & (strength > 0)] = 1
    return maps, labels


def _weather(shape: tuple[int, ...], rng: np.random.Generator) -> Maps:
    """Smooth random fields of variance 1, and a little noise at every point."""
    _, height, width, _ = shape
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)
    smooth = np.exp(-((fy**2 + fx**2) * 1200.0))[None, :, :, None]
    white = np.fft.rfft2(rng.normal(size=shape), axes=(1, 2)) * smooth
    field = np.fft.irfft2(white, s=(height, width), axes=(1, 2))
    field /= field.std((1, 2), keepdims=True)
    return (field + 0.3 * rng.normal(size=shape)).astype(np.float32)


def _centres(
    y: Maps, x: Maps, count: int, rng: np.random.Generator, sizes: tuple[float, float]
) -> tuple[Maps, Maps, Maps]:
    """Distances from a random center in units of a random size, and a strength, sometimes 0."""
    size = rng.uniform(*sizes, count)
    centre_y = rng.uniform(6, y.max() - 6, count)
    centre_x = rng.uniform(6, x.max() - 6, count)
    strength = np.where(rng.random(count) < 0.75, rng.uniform(0.8, 1.2, count), 0)
    scale, up, left, strong = (
        parameter.astype(np.float32)[:, None, None]
        for parameter in (size, centre_y, centre_x, strength)
    )
    return (y - up) / scale, (x - left) / scale, strong


def _strip(
    y: Maps, x: Maps, count: int, rng: np.random.Generator, *, round_spot: bool
) -> tuple[Maps, Maps, Maps]:
    """Like `_centres`, but along and across a random direction; a strip is long in one of them."""
    dy, dx, strength = _centres(y, x, count, rng, (1.0, 1.0))
    angle = rng.uniform(0, np.pi, (count, 1, 1)).astype(np.float32)
    cos, sin = np.cos(angle), np.sin(angle)
    long, short = (4.0, 4.0) if round_spot else (12.0, 3.0)
    along = ((cos * dx + sin * dy) / long).astype(np.float32)
    across = ((cos * dy - sin * dx) / short).astype(np.float32)
    return along, across, strength


class Weather(torch.utils.data.Dataset["tuple[Tensor, Tensor]"]):
    """Maps of one part of a folder, with each channel scaled to 0 to 1 by the folder's extremes.

    Raises DataMissing where a file cannot be used.
    """

    def __init__(self, folder: Path, part: str) -> None:
        self._maps = sorted((folder / part).glob("data-*.npy"))
        path = folder / "stats.npz"
        try:
            with np.load(path) as stats:
                self._low, high = (stats[name].astype(np.float32) for name in EXTREMES)
        except (OSError, KeyError, ValueError, EOFError, BadZipFile) as error:
            raise DataMissing(f"{path} cannot be read: {error}") from None
        if self._low.ndim != 1 or self._low.shape != high.shape or not (high > self._low).all():
            raise DataMissing(f"{path}: expected a minval below a maxval for each channel")
        self._scale = 1 / (high - self._low)

    def __len__(self) -> int:
        return len(self._maps)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Maps (B, channels, height, width) and classes (B, height, width)."""
        pairs = [self._pair(self._maps[index], self._maps[0]) for index in indices]
        maps, labels = (np.stack(part) for part in zip(*pairs, strict=True))
        scaled = (maps - self._low) * self._scale
        return (
            torch.from_numpy(scaled).permute(0, 3, 1, 2).contiguous(),
            torch.from_numpy(labels.astype(np.int64)),
        )

    def _pair(self, path: Path, first: Path) -> tuple[Maps, Labels]:
        """A map and its classes, with the shape of the first map."""
        label = path.with_name(path.name.replace("data-", "label-", 1))
        try:
            weather_map, classes = np.load(path), np.load(label)
            shape = weather_map.shape if path == first else np.load(first, mmap_mode="r").shape
        except (OSError, ValueError, EOFError) as error:
            raise DataMissing(f"{path} and {label.name} cannot be read: {error}") from None
        if weather_map.shape != shape or weather_map.shape[2:] != self._low.shape:
            expected = (*shape[:2], len(self._low))
            raise DataMissing(f"{path} has shape {weather_map.shape}; expected {expected}")
        if classes.shape != shape[:2]:
            raise DataMissing(f"{label} has shape {classes.shape}; expected {shape[:2]}")
        if not 0 <= classes.min() <= classes.max() < CLASSES:
            raise DataMissing(f"{label} contains classes outside of 0 to {CLASSES - 1}")
        return weather_map, classes


EXTREMES = ("minval", "maxval")
