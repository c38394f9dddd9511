"""C4 for GPT-3: a stream of tokens, cut into sequences that do not overlap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch

from podium.reference_runs.modeling.language.corpus import UNSCORED, Batch
from podium.reference_runs.modeling.language.files import PARTS, Stream, TokenFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from podium.reference_runs.benchmarks.gpt3.config import Gpt3
    from podium.reference_runs.engine.samples import DatasetSize


class Apart(Stream):
    """A stream of tokens, cut into sequences that do not overlap.

    The last one may be shorter than the others; its padding is not scored.
    """

    def __init__(self, file: TokenFile, length: int, most: int | None = None) -> None:
        whole = math.ceil(len(file) / length)
        super().__init__(file, length, whole)
        self._count = whole if most is None else min(whole, most)

    @property
    def predicted(self) -> int:
        """Number of tokens that have a predecessor in their sequence."""
        return min(len(self._file), self._count * self._length) - self._count

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        length = self._length
        rows = np.full((len(indices), length + 1), UNSCORED, dtype=np.int64)
        for row, index in zip(rows, indices, strict=True):
            tokens = self._file.part(index * length, (index + 1) * length)
            row[: len(tokens)] = tokens
        whole = torch.from_numpy(rows)
        # An embedding has no row for UNSCORED; any other token works, since attention is causal
        return Batch(whole[:, :-1].clamp(min=0), whole[:, 1:])


def from_files(folder: Path, config: Gpt3, expected: DatasetSize) -> tuple[Apart, Apart]:
    """The tokenized corpus: `train.bin` and `validation.bin`, as `TokenFile` reads them.

    Of a longer training file only the first sequences are used. Raises DataMissing if a file is
    missing, has another length, or contains an invalid token id.
    """
    length = config.max_sequence_length
    files = [TokenFile(folder / f"{part}.bin", config.vocabulary) for part in PARTS]
    training, evaluation = Apart(files[0], length, expected.training), Apart(files[1], length)
    expected.check_training(files[0].path, len(training), f"sequences of {length} tokens")
    expected.check_evaluation(
        files[1].path, evaluation.predicted, f"tokens to predict in sequences of {length}"
    )
    return training, evaluation
