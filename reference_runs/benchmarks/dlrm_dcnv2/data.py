"""Clicks: a hidden factor model at smoke scale, Criteo's days as NumPy files else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
import torch

from podium.reference_runs.benchmarks.dlrm_dcnv2.config import DENSE_FEATURES, DlrmDcnv2
from podium.reference_runs.engine.arrays import mapped_array
from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from torch import Tensor

    Batch = tuple[Tensor, list[Tensor], Tensor]

TASK_SEED = 12
FACTORS = 4
PAIRS = ((0, 1), (0, 2), (1, 3), (2, 4))
"""Tables whose factors are multiplied: neither table tells anything alone."""
STRENGTH = 2.6
BASE = -1.4
"""Log odds of a click where nothing speaks for or against one; a quarter of all are clicks."""


class Clicks(torch.utils.data.Dataset[Any]):
    """Samples in memory: dense features, ids of each table (samples, ids), and labels."""

    def __init__(
        self,
        dense: NDArray[np.float32],
        ids: list[NDArray[np.int32]],
        labels: NDArray[np.float32],
    ) -> None:
        self.dense, self.ids, self.labels = dense, ids, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Dense features (B, 13), ids of each table (B, ids), labels (B,)."""
        at = np.asarray(indices)
        dense, labels = torch.from_numpy(self.dense[at]), torch.from_numpy(self.labels[at])
        return dense, [torch.from_numpy(table[at]) for table in self.ids], labels


class ClickModel:
    """What makes people click: products of hidden factors, and a wave over dense features."""

    def __init__(self, rows: tuple[int, ...]) -> None:
        rng = np.random.default_rng(TASK_SEED)
        self.factors = [rng.normal(size=(count, FACTORS)).astype(np.float32) for count in rows]
        self.direction = rng.normal(size=3).astype(np.float32)
        # A few ids are frequent and most are rare, as in every log of clicks.
        popular = [rng.permutation(1.0 / np.arange(1, count + 1)) for count in rows]
        self.cumulative = [np.cumsum(each) / each.sum() for each in popular]

    def draw(self, count: int, ids: tuple[int, ...], seed: Sequence[int]) -> Clicks:
        """So many samples, with as many ids of each table as `ids` says."""
        rng = np.random.default_rng(seed)
        dense = rng.exponential(size=(count, DENSE_FEATURES)).astype(np.float32)
        bags = [
            np.searchsorted(cumulative, rng.random((count, each)), side="right").astype(np.int32)
            for cumulative, each in zip(self.cumulative, ids, strict=True)
        ]
        labels = rng.random(count) < 1 / (1 + np.exp(-self._log_odds(dense, bags)))
        return Clicks(np.log1p(dense), bags, labels.astype(np.float32))

    def _log_odds(
        self, dense: NDArray[np.float32], bags: list[NDArray[np.int32]]
    ) -> NDArray[np.float32]:
        pooled = [
            table[bag].sum(1) / np.sqrt(np.float32(bag.shape[1]))
            for table, bag in zip(self.factors, bags, strict=True)
        ]
        products = sum((pooled[a] * pooled[b]).sum(1) for a, b in PAIRS if b < len(pooled))
        spread = np.sqrt(FACTORS * len(PAIRS))
        odds: NDArray[np.float32] = STRENGTH * products / spread
        odds += np.sin(dense[:, :3] @ self.direction) + BASE
        return odds


def synthetic(config: DlrmDcnv2, seed: int) -> tuple[Clicks, Clicks]:
    """Training clicks drawn by the seed, evaluation clicks the same for all seeds."""
    model = ClickModel(config.rows)
    training = model.draw(config.train_samples, config.ids, [seed, 0xD1])
    if config.shuffled_labels:
        training.labels = np.random.default_rng([seed, 0xD2]).permutation(training.labels)
    return training, model.draw(config.eval_samples, config.ids, [TASK_SEED, 0xD3])


class DayFiles(torch.utils.data.Dataset[Any]):
    """Criteo's days on disk, one after another, without reading what is not asked for.

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
        """As `Clicks`; the indices of a batch follow each other and may cross midnight."""
        at = np.asarray(indices)
        day_of = np.searchsorted(self.ends, at, side="right")
        parts = []
        for day in np.unique(day_of):
            before = 0 if day == 0 else int(self.ends[day - 1])
            part = self.days[day].__getitems__(at[day_of == day] - before)
            self._check(int(day), part[1])
            parts.append(part)
        dense, ids, labels = zip(*parts, strict=True)
        bags = [torch.cat(tables).long() for tables in zip(*ids, strict=True)]
        return torch.cat(dense).float(), bags, torch.cat(labels).float().flatten()

    def _check(self, day: int, ids: list[Tensor]) -> None:
        """Raise DataMissing where ids lie beyond their table: all of a day would take minutes."""
        for table, (bag, rows) in enumerate(zip(ids, self._config.rows, strict=True)):
            low, high = int(bag.min()), int(bag.max())
            if low < 0 or high >= rows:
                path = _sparse(self._folder, self._first + day)
                wrong = low if low < 0 else high
                raise DataMissing(
                    f"{path} holds the id {wrong} in table {table}; expected 0 to {rows - 1}"
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
            f"{folder / f'day_{day}_dense.npy'} is of shape {dense.shape};"
            f" expected {(count, DENSE_FEATURES)}"
        )
    shapes = [table.shape for table in tables]
    expected = [(count, each) for each in config.ids]
    if len(shapes) != len(expected):
        raise DataMissing(f"{path} holds {len(shapes)} tables; expected {len(expected)}")
    for table, (found, wanted) in enumerate(zip(shapes, expected, strict=True)):
        if found != wanted:
            raise DataMissing(f"{path} holds a table {table} of shape {found}; expected {wanted}")
    return Clicks(dense, tables, labels)


def _tables(path: Path) -> list[NDArray[np.int32]]:
    """The arrays 0.npy, 1.npy … of an archive, mapped in place: NumPy itself would copy them."""
    found: list[NDArray[np.int32]] = []
    with ZipFile(path) as archive, path.open("rb") as stream:
        for number in range(len(archive.namelist())):
            entry = archive.getinfo(f"{number}.npy")
            if entry.compress_type != 0:
                raise ValueError(f"{path.name} is compressed; must be stored as it is")
            stream.seek(entry.header_offset + 26)
            # The local header counts: its extra field may differ from the directory's
            name, extra = np.frombuffer(stream.read(4), "<u2")
            stream.seek(entry.header_offset + 30 + int(name) + int(extra))
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0
            shape, _, kind = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(
                stream
            )
            found.append(np.memmap(path, kind, "r", stream.tell(), shape))
    return found
