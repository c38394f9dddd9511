"""Criteo's clicks in the binary files of the reference: 40 integers each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.benchmarks.dlrm.config import MOST_ROWS
from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.clicks import DENSE_FEATURES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from podium.reference_runs.benchmarks.dlrm.config import Dlrm
    from podium.reference_runs.modeling.clicks import Batch


class ClickFile(torch.utils.data.Dataset[Any]):
    """A memory-mapped file of clicks: label, 13 counts and an id per table for each click.

    The numbers are little-endian 32-bit integers. Counts are transformed to log(count + 1).
    """

    def __init__(self, path: Path, config: Dlrm) -> None:
        self.path, self._rows = path, config.rows
        fields = 1 + DENSE_FEATURES + len(config.rows)
        try:
            numbers = np.memmap(path, np.dtype("<i4"), "r")
        except (OSError, ValueError) as error:
            raise DataMissing(f"{path} cannot be read: {error}") from None
        if len(numbers) % fields:
            raise DataMissing(
                f"{path} contains {len(numbers)} integers; expected a multiple of {fields}"
            )
        self._clicks = numbers.reshape(-1, fields)

    def __len__(self) -> int:
        return len(self._clicks)

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Dense features (B, 13), ids of each table (B, 1), labels (B,)."""
        clicks = torch.from_numpy(self._clicks[np.asarray(indices)].astype(np.int64))
        labels, counts, ids = torch.split(clicks, [1, DENSE_FEATURES, len(self._rows)], 1)
        self._check(counts, ids)
        dense = torch.log(counts.float() + 1)
        return dense, list(torch.split(ids % MOST_ROWS, 1, 1)), labels.squeeze(1).float()

    def _check(self, counts: torch.Tensor, ids: torch.Tensor) -> None:
        """Raise DataMissing for numbers that a model with these tables does not accept."""
        if int(counts.min()) < 0:
            raise DataMissing(
                f"{self.path} contains the count {int(counts.min())}; expected 0 or more"
            )
        for table, (own, rows) in enumerate(zip(ids.unbind(1), self._rows, strict=True)):
            low, high = int(own.min()), int((own % MOST_ROWS).max())
            if low < 0 or high >= rows:
                raise DataMissing(
                    f"{self.path} contains the id {low if low < 0 else high} in table {table};"
                    f" expected 0 to {rows - 1}"
                )
