"""Volumes: random fields with four parameters at smoke scale, otherwise N-body simulations."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.benchmarks.cosmoflow.tfrecord import read_example
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.cosmoflow.config import CosmoFlow

    Counts = NDArray[np.int64]

COUNT = 6.0
"""Particles in a mean voxel at the middle of the first parameter's range."""
AT_ONCE = 64
"""Volumes that are generated at once, which bounds the memory."""
PARTS = ("train", "validation")
SHIFTS, PARAMETERS = 4, 4
"""Redshifts of a simulated volume, and the number of parameters to predict."""


def fields(parameters_NP: NDArray[np.float64], size: int, rng: np.random.Generator) -> Counts:
    """Counts of particles at four times, (N, 4, X, X, X), for parameters between -1 and 1.

    The first determines the number of particles, the second their clustering, the third the size of
    the clusters, the fourth the change of matter from channel to channel.
    """
    density, contrast, scale, growth = (
        parameters_NP[:, column, None, None, None] for column in range(4)
    )
    wave = np.fft.fftfreq(size)
    squared = wave[:, None, None] ** 2 + wave[None, :, None] ** 2 + np.fft.rfftfreq(size) ** 2
    reach = 1.1 * 2.2**scale  # voxels over which the field is smooth
    smooth = np.exp(-0.5 * (2 * np.pi * reach) ** 2 * squared)
    noise = np.fft.rfftn(
        rng.standard_normal((len(parameters_NP), size, size, size)), axes=(1, 2, 3)
    )
    field = np.fft.irfftn(noise * smooth, s=(size,) * 3, axes=(1, 2, 3))
    field /= field.std(axis=(1, 2, 3), keepdims=True)
    times = []
    for time in range(4):
        strength = 0.6 * 1.9**contrast * 1.15 ** (time - 1.5)
        lumpy = np.exp(strength * field)
        share = lumpy / lumpy.mean(axis=(1, 2, 3), keepdims=True)  # matter moves, none is lost
        matter = COUNT * 2.5**density * 1.5 ** (growth * (time - 1.5))
        times.append(rng.poisson(matter * share))
    return np.stack(times, axis=1)


def write(folder: Path, config: CosmoFlow, seed: int) -> None:
    """Write the generated volumes: training volumes by seed, evaluation volumes always the same."""
    sources = (
        (PARTS[0], config.train_samples, np.random.default_rng([seed, 0x5E0])),
        (PARTS[1], config.eval_samples, np.random.default_rng(UNIVERSE_SEED)),
    )
    for part, count, rng in sources:
        (folder / part).mkdir(parents=True)
        for first in range(0, count, AT_ONCE):
            parameters = rng.uniform(-1, 1, (min(AT_ONCE, count - first), config.parameters))
            volumes = fields(parameters, config.size, rng).astype(np.int32)
            # Leading zeros, since the files are read in the order of their names
            name = folder / part / f"volumes_{first:08}.npz"
            np.savez(name, x=volumes, y=parameters.astype(np.float32))


UNIVERSE_SEED = 128


@dataclass(frozen=True)
class Volumes:
    """Volumes in memory, or in files of one each, with the parameters of their universes."""

    files: Sequence[Path]
    target: NDArray[np.int64]
    """Index of the parameters for each volume; those of another volume if labels are shuffled."""
    size: int = 0
    """Edge of the volumes in files, in voxels."""
    kept: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        return len(self.target)

    def __getitems__(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Volumes as log(1 + count), (B, C, X, X, X), and parameters, (B, P)."""
        targets = self.target[list(indices)]
        if self.kept is not None:
            return self.kept[0][list(indices)], self.kept[1][targets]
        pairs = [_simulated(self.files[index], self.size) for index in indices]
        volumes = np.concatenate([volume for volume, _ in pairs])
        return as_input(volumes), torch.from_numpy(np.concatenate([y for _, y in pairs]))


def as_input(volumes: NDArray[np.int32]) -> Tensor:
    """The model's input: log(1 + count)."""
    return torch.from_numpy(volumes).float().log1p()


def open_made(folder: Path, part: str) -> Volumes:
    """All volumes from `write`, in memory."""
    files = sorted((folder / part).glob("*.npz"))
    pairs = [_read_volumes(path) for path in files]
    volumes = np.concatenate([volume for volume, _ in pairs])
    parameters = np.concatenate([parameter for _, parameter in pairs])
    kept = as_input(volumes), torch.from_numpy(parameters)
    return Volumes(files, np.arange(len(volumes)), kept=kept)


def open_simulated(folder: Path, part: str, size: int) -> Volumes:
    """Simulated volumes with edges of `size` voxels, one in each file."""
    files = sorted((folder / part).glob("*.tfrecord"))
    return Volumes(files, np.arange(len(files)), size)


def _read_volumes(path: Path) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The volumes of a file, (N, C, X, X, X), and their parameters, (N, P)."""
    with np.load(path) as file:
        return file["x"], file["y"]


def _simulated(path: Path, size: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """A file's volume, redshifts first, (1, C, X, X, X), and its parameters, (1, P)."""
    try:
        example = read_example(path)
        counts = np.frombuffer(example["x"], "<i2").astype(np.int32)
        parameters = np.frombuffer(example["y"], "<f4").astype(np.float32)
    except (OSError, EOFError, ValueError, LookupError, zlib.error) as error:
        raise DataMissing(
            f"{path} cannot be read as a volume x and parameters y: {error!r}"
        ) from None
    shape = (size, size, size, SHIFTS)
    if len(counts) != np.prod(shape) or len(parameters) != PARAMETERS:
        raise DataMissing(
            f"{path} contains {len(counts)} counts and {len(parameters)} parameters;"
            f" expected {np.prod(shape)} and {PARAMETERS}"
        )
    return np.moveaxis(counts.reshape(shape), -1, 0)[None], parameters[None]
