"""Conversion of CAM5's published HDF5 maps to the NumPy files that the trainer reads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.reference_runs.benchmarks.deepcam.data import EXTREMES
from podium.reference_runs.datasets.prepare import Piece, Recipe
from podium.reference_runs.errors import DataMissing, LibraryMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

PARTS = ("train", "validation")
AT_ONCE = 64
"""Maps per piece of the work: 3.6 GB."""


def recipe(name: str, source: Path, tokenizer: Path | None, *, subset: bool) -> Recipe:  # noqa: ARG001
    """The recipe for converting the maps; raises DataMissing.

    source: a folder with `train/data-*.h5`, `validation/data-*.h5` and `stats.h5`; each map has
    `climate/data` and `climate/labels_0`, the last file `climate/minval` and `climate/maxval`.
    """
    pieces = [Piece("stats", partial(convert_extremes, source / "stats.h5"))]
    for part in PARTS:
        maps = sorted((source / part).glob("data-*.h5"))
        if not maps:
            raise DataMissing(f"{source / part} contains no data-*.h5")
        for number, begin in enumerate(range(0, len(maps), AT_ONCE)):
            some = tuple(maps[begin : begin + AT_ONCE])
            pieces.append(Piece(f"{part}-{number:05d}", partial(convert, part, some)))
    return Recipe(pieces, f"{name} of {source.absolute()}, {len(pieces)} pieces")


def convert_extremes(source: Path, folder: Path) -> None:
    """Write `stats.npz`; raises DataMissing."""
    low, high = (array.astype(np.float32) for array in _arrays(source, EXTREMES))
    np.savez(folder / "stats.npz", minval=low, maxval=high)


def convert(part: str, maps: Sequence[Path], folder: Path) -> None:
    """Write `data-NAME.npy` and `label-NAME.npy` of each map; raises DataMissing."""
    (folder / part).mkdir()
    for path in maps:
        values, labels = _arrays(path, ("data", "labels_0"))
        if values.ndim != 3 or labels.shape != values.shape[:2]:
            raise DataMissing(
                f"{path} has data of shape {values.shape} and labels of shape {labels.shape};"
                " expected (height, width, channels) and (height, width)"
            )
        name = path.stem.removeprefix("data-")
        np.save(folder / part / f"data-{name}.npy", values.astype(np.float32))
        np.save(folder / part / f"label-{name}.npy", labels.astype(np.uint8))


def _arrays(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    """Arrays of the file's group `climate`."""
    try:
        import h5py  # type: ignore[import-untyped]
    except ImportError:
        raise LibraryMissing(
            "h5py, which HDF5 files require, is not installed: pip install h5py"
        ) from None
    try:
        with h5py.File(path, "r") as file:
            return [np.asarray(file[f"climate/{name}"]) for name in names]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DataMissing(f"{path} cannot be read as HDF5: {error}") from None
