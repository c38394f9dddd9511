"""LAION's encoded images with tokens, COCO's captions, and the frozen networks, in files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import torch

from podium.reference_runs.benchmarks.stable_diffusion.data import Captions, Pair
from podium.reference_runs.benchmarks.stable_diffusion.frozen import Frozen
from podium.reference_runs.benchmarks.stable_diffusion.quality import Gaussian
from podium.reference_runs.engine.arrays import mapped_array
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.stable_diffusion.config import StableDiffusion
    from podium.reference_runs.engine.samples import DatasetSize

TRAINING, MOMENTS, TOKENS = "train", "-moments.npy", "-tokens.npy"
EVALUATION = ("evaluation/tokens.npy", "evaluation/embedded.npy", "evaluation/features.npz")
NETWORKS = tuple(f"networks/{name}.pt" for name in ("text", "decoder", "features", "embedding"))
"""File names in the order of `Frozen`."""


class Files:
    """Pairs of a folder: `NAME-moments.npy` (N, 2C, H, W) and `NAME-tokens.npy` (N, L).

    Moments are means and log variances from the autoencoder. Raises DataMissing if a file is
    unusable.
    """

    def __init__(self, folder: Path, config: StableDiffusion) -> None:
        paths = sorted(folder.glob(f"*{MOMENTS}"))
        if not paths:
            raise DataMissing(f"{folder} contains no *{MOMENTS}")
        side = (config.latent_size, config.latent_size)
        self._moments = [_array(path, (2 * config.latent_channels, *side), "f") for path in paths]
        names = [path.name.removesuffix(MOMENTS) + TOKENS for path in paths]
        self._tokens = [_array(folder / name, (config.context_length,), "iu") for name in names]
        for path, moments, tokens in zip(paths, self._moments, self._tokens, strict=True):
            if len(moments) != len(tokens):
                raise DataMissing(
                    f"{path} contains {len(moments)} images; expected {len(tokens)},"
                    " the number of captions"
                )
        self._starts = np.cumsum([0, *map(len, self._moments)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def pair(self, index: int) -> Pair:
        """One pair."""
        file = int(np.searchsorted(self._starts, index, "right")) - 1
        row = index - int(self._starts[file])
        mean, logvar = np.split(self._moments[file][row].astype(np.float32), 2)
        # The published autoencoder clamps the log variance to this range
        deviation = np.exp(0.5 * logvar.clip(-30, 20))
        return Pair(mean, deviation, self._tokens[file][row].astype(np.int64))


def _array(path: Path, shape: tuple[int, ...], kinds: str) -> NDArray[Any]:
    """A memory-mapped array with rows of a given shape; raises DataMissing."""
    array = mapped_array(path)
    if array.shape[1:] != shape or array.dtype.kind not in kinds:
        what = "floating-point numbers" if kinds == "f" else "integers"
        raise DataMissing(
            f"{path} is {array.dtype.name} of shape {array.shape}; expected {what} of"
            f" (N, {', '.join(map(str, shape))})"
        )
    return array


def _real(path: Path) -> Gaussian:
    """Mean and covariance of real images' features."""
    try:
        with np.load(path) as file:
            mean, covariance = (torch.from_numpy(file[name]).double() for name in ("mu", "sigma"))
    except (OSError, KeyError, ValueError, EOFError, TypeError, BadZipFile) as error:
        raise DataMissing(f"{path} cannot be read as mu and sigma of features: {error}") from None
    if covariance.shape != (*mean.shape, *mean.shape) or mean.dim() != 1:
        raise DataMissing(
            f"{path} has mu of shape {tuple(mean.shape)} and sigma of {tuple(covariance.shape)};"
            " expected (F,) and (F, F)"
        )
    return Gaussian(mean, covariance)


def networks(folder: Path, device: torch.device) -> Frozen:
    """The frozen networks, TorchScript; raises DataMissing."""
    modules = []
    for name in NETWORKS:
        try:
            path = str(folder / name)
            modules.append(torch.jit.load(path, map_location=device))  # type: ignore[no-untyped-call]
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise DataMissing(f"{folder / name} cannot be read as TorchScript: {reason}") from None
    return Frozen(*modules)


def from_files(
    folder: Path, config: StableDiffusion, expected: DatasetSize
) -> tuple[Files, Captions]:
    """Training pairs and the evaluation data; raises DataMissing."""
    training = Files(folder / TRAINING, config)
    expected.check_training(folder / TRAINING, len(training), "images")
    tokens, embedded, real = (folder / name for name in EVALUATION)
    words = np.asarray(_array(tokens, (config.context_length,), "iu")).astype(np.int64)
    vectors = mapped_array(embedded)
    expected.check_evaluation(tokens, len(words), "captions")
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.dtype.kind != "f":
        raise DataMissing(
            f"{embedded} is {vectors.dtype.name} of shape {vectors.shape}; expected a vector for"
            f" each of {len(words)} captions"
        )
    return training, Captions(words, np.array(vectors, np.float32), _real(real))
