"""Criteo's days as NumPy files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch

from podium.reference_runs.engine.arrays import mapped_array
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.clicks import DENSE_FEATURES, Clicks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    from podium.reference_runs.benchmarks.dlrm_dcnv2.config import DlrmDcnv2
    from podium.reference_runs.modeling.clicks import Batch


class DayFiles(torch.utils.data.Dataset[Any]):
    """Criteo's days on disk, one after another; only the requested parts are read.

    Each day is `day_N_dense.npy` (samples, 13), `day_N_labels.npy` and `day_N_sparse_multi_hot.npz`
    with the ids of table K (samples, ids) as `K.npy`, stored without compression. The order on disk
    was shuffled when the files were made.
    """

    def __init__(self, folder: Path, days: range, config: DlrmDcnv2, share: float = 1.0) -> None:
        self._folder, self._first, self._config = folder, days[0], config
        self.days = [_day(folder, day, config) for day in days]
        lengths = [-int(-len(day.labels) * share // 1) for day in self.days]
        self.ends = np.cumsum(lengths)

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Samples by index; the indices of a batch are consecutive and may span two days."""
        positions = np.asarray(indices)
        day_of = np.searchsorted(self.ends, positions, side="right")
        parts = []
        for day in np.unique(day_of):
            before = 0 if day == 0 else int(self.ends[day - 1])
            part = self.days[day].__getitems__(positions[day_of == day] - before)
            self._check(int(day), part[1])
            parts.append(part)
        dense, ids, labels = zip(*parts, strict=True)
        bags = [torch.cat(tables).long() for tables in zip(*ids, strict=True)]
        return torch.cat(dense).float(), bags, torch.cat(labels).float().flatten()

    def _check(self, day: int, ids: list[Tensor]) -> None:
        """Raise DataMissing for ids beyond their table; checking a whole day would take minutes."""
        for table, (bag, rows) in enumerate(zip(ids, self._config.rows, strict=True)):
            low, high = int(bag.min()), int(bag.max())
            if low < 0 or high >= rows:
                path = _sparse(self._folder, self._first + day)
                wrong = low if low < 0 else high
                raise DataMissing(
                    f"{path} contains the id {wrong} in table {table}; expected 0 to {rows - 1}"
                )


def _sparse(folder: Path, day: int) -> Path:
    return folder / f"day_{day}_sparse_multi_hot.npz"


def _day(folder: Path, day: int, config: DlrmDcnv2) -> Clicks:
    dense, labels = (mapped_array(folder / f"day_{day}_{what}.npy") for what in ("dense", "labels"))
    path, count = _sparse(folder, day), len(labels)
    try:
        tables = _tables(path)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise DataMissing(f"{path} cannot be read: {error}") from None
    if dense.shape != (count, DENSE_FEATURES):
        raise DataMissing(
            f"{folder / f'day_{day}_dense.npy'} has shape {dense.shape};"
            f" expected {(count, DENSE_FEATURES)}"
        )
    shapes = [table.shape for table in tables]
    expected = [(count, bag_size) for bag_size in config.ids]
    if len(shapes) != len(expected):
        raise DataMissing(f"{path} contains {len(shapes)} tables; expected {len(expected)}")
    for table, (shape, wanted) in enumerate(zip(shapes, expected, strict=True)):
        if shape != wanted:
            raise DataMissing(f"{path} has a table {table} of shape {shape}; expected {wanted}")
    return Clicks(dense, tables, labels)


def _tables(path: Path) -> list[NDArray[np.int32]]:
    """The arrays 0.npy, 1.npy … of an archive, memory-mapped: NumPy itself would copy them."""
    arrays: list[NDArray[np.int32]] = []
    with ZipFile(path) as archive, path.open("rb") as stream:
        for number in range(len(archive.namelist())):
            entry = archive.getinfo(f"{number}.npy")
            if entry.compress_type != 0:
                raise ValueError(f"{path.name} is compressed; expected a stored array")
            stream.seek(entry.header_offset + 26)
            # The local header counts: its extra field may differ from that of the directory
            name, extra = np.frombuffer(stream.read(4), "<u2")
            stream.seek(entry.header_offset + 30 + int(name) + int(extra))
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0
            shape, _, kind = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(
                stream
            )
            arrays.append(np.memmap(path, kind, "r", stream.tell(), shape))
    return arrays
