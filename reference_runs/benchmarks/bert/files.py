"""Masked sequences in HDF5 files, in the format of the reference's ports to PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.benchmarks.bert.data import Batch
from podium.reference_runs.errors import DataMissing, LibraryMissing
from podium.reference_runs.modeling.language.corpus import UNSCORED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.bert.config import Bert

FIELDS = {
    "input_ids": "max_sequence_length",
    "segment_ids": "max_sequence_length",
    "input_mask": "max_sequence_length",
    "masked_lm_positions": "max_predictions_per_seq",
    "masked_lm_ids": "max_predictions_per_seq",
    "next_sentence_labels": "",
}
"""Datasets of a file in the order of a batch's parts, by the config's field with their width."""
OPEN = 256
"""Maximum number of open files of a process: systems allow 1024 of all kinds."""


class Files(torch.utils.data.Dataset[Batch]):
    """Sequences of the files of a folder, one file after another, read on access.

    Raises DataMissing if a file has unexpected content.
    """

    def __init__(self, folder: Path, config: Bert) -> None:
        words, length = config.vocabulary, config.max_sequence_length
        self._limits = dict(zip(FIELDS, (words, 2, 2, length, words, 2), strict=True))
        self._widths = {name: getattr(config, field, 1) for name, field in FIELDS.items()}
        self.paths = sorted(folder.glob("*.hdf5"))
        if not self.paths:
            raise DataMissing(f"{folder} contains no *.hdf5 files")
        self._ends = np.cumsum([self._length(path) for path in self.paths])
        # By file; opened in each worker process, since handles cannot be shared
        self._open: dict[int, Any] = {}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        samples = np.asarray(indices)
        numbers = np.searchsorted(self._ends, samples, side="right")
        begins = np.concatenate(([0], self._ends))[numbers]
        rows = [self._row(int(n), int(i)) for n, i in zip(numbers, samples - begins, strict=True)]
        parts = [np.stack(part).astype(np.int64) for part in zip(*rows, strict=True)]
        tokens, segments, attended, positions, words, unrelated = parts
        # Lists of positions are padded with 0, that of the first token, which is never masked
        targets = np.where(positions > 0, words, UNSCORED)
        arrays = (tokens, segments, attended > 0, positions, targets, unrelated.reshape(-1))
        return Batch(*(torch.from_numpy(array) for array in arrays))

    def _row(self, number: int, row: int) -> list[NDArray[Any]]:
        """A sequence's row of each dataset, whose numbers are in range."""
        path, file = self.paths[number], self._file(number)
        try:
            parts = {name: file[name][row] for name in FIELDS}
        except OSError as error:
            raise _unreadable(path, error) from None
        for name, part in parts.items():
            low, high = int(np.min(part)), int(np.max(part))
            limit = self._limits[name]
            if low < 0 or high >= limit:
                wrong = low if low < 0 else high
                raise DataMissing(f"{path} contains {wrong} in {name}; expected 0 to {limit - 1}")
        return list(parts.values())

    def _file(self, number: int) -> Any:
        if number not in self._open:
            if len(self._open) == OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[number] = _opened(self.paths[number])
        return self._open[number]

    def _length(self, path: Path) -> int:
        """The number of sequences in a file; all its datasets have the same number."""
        with _opened(path) as file:
            shapes = {name: tuple(file[name].shape) for name in FIELDS}
        count = shapes["input_ids"][0] if shapes["input_ids"] else 0
        for name, shape in shapes.items():
            # Labels may be a column
            wanted = (count, self._widths[name])
            if shape != wanted and (FIELDS[name] or shape != (count,)):
                raise DataMissing(f"{path} has {name} of shape {shape}; expected {wanted}")
        return int(count)


def _opened(path: Path) -> Any:
    """A file that contains all of `FIELDS`."""
    try:
        import h5py  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise LibraryMissing(f"{path} is in HDF5, which requires h5py: pip install h5py") from None
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise _unreadable(path, error) from None
    for name in FIELDS:
        if not isinstance(file.get(name), h5py.Dataset):
            file.close()
            raise DataMissing(f"{path} contains no {name}")
    return file


def _unreadable(path: Path, error: OSError) -> DataMissing:
    reason = str(error).partition("\n")[0]
    return DataMissing(f"{path} cannot be read as HDF5: {reason}")
