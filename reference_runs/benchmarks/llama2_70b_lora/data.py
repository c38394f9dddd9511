"""Packed sequences of GovReport, and the positions of their scored tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.language.corpus import UNSCORED, Batch, Sequences
from podium.reference_runs.modeling.language.files import TokenFile, mapped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.benchmarks.llama2_70b_lora.config import Llama2Lora
    from podium.reference_runs.engine.samples import DatasetSize

PROMPT_SEED = 173


class Rows(torch.utils.data.Dataset[Batch]):
    """A file of sequences of one length, which do not overlap.

    `labels` (tokens of the file,) repeats the scored tokens and has UNSCORED elsewhere; without
    them all tokens are scored.
    """

    def __init__(self, file: TokenFile, length: int, labels: NDArray[Any] | None = None) -> None:
        self._file, self._length, self._labels = file, length, labels

    def __len__(self) -> int:
        return len(self._file) // self._length

    def check(self) -> None:
        """Raise DataMissing for errors that opening the file does not check, to save time."""
        self._file.check()

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index; the last token has no target."""
        tokens = np.stack([self._row(index) for index in indices])
        labels = tokens if self._labels is None else np.stack([*map(self._label_row, indices)])
        targets = np.full_like(tokens, UNSCORED)
        targets[:, :-1] = labels[:, 1:]
        return Batch(torch.from_numpy(tokens), torch.from_numpy(targets))

    def _row(self, index: int) -> NDArray[np.int64]:
        return self._file.part(index * self._length, (index + 1) * self._length)

    def _label_row(self, index: int) -> NDArray[np.int64]:
        assert self._labels is not None
        begin = index * self._length
        labels: NDArray[np.int64] = self._labels[begin : begin + self._length].astype(np.int64)
        wrong = np.flatnonzero((labels != UNSCORED) & (labels != self._row(index)))
        if len(wrong):
            raise DataMissing(
                f"{self._file.path.parent / LABELS} contains {labels[wrong[0]]} at token"
                f" {begin + wrong[0]}; expected the token or {UNSCORED}"
            )
        return labels


def from_files(folder: Path, config: Llama2Lora, expected: DatasetSize) -> tuple[Rows, Rows]:
    """`train.bin` and `validation.bin`, and `validation_labels.bin`, which excludes prompts.

    Token ids are as `TokenFile` reads them, labels are signed 32-bit integers. Raises DataMissing
    if a file is missing or has another number of tokens.
    """
    length = config.max_sequence_length
    training, evaluation = (
        TokenFile(folder / f"{part}.bin", config.vocabulary) for part in ("train", "validation")
    )
    for file, check in (
        (training, expected.check_training),
        (evaluation, expected.check_evaluation),
    ):
        if len(file) % length:
            raise DataMissing(
                f"{file.path} contains {len(file)} tokens; expected whole sequences of {length}"
            )
        check(file.path, len(file) // length, f"sequences of {length} tokens")
    labels = mapped(folder / LABELS, np.dtype(np.int32))
    if len(labels) != len(evaluation):
        raise DataMissing(
            f"{folder / LABELS} contains {len(labels)} labels; expected {len(evaluation)}, one of"
            " each token"
        )
    return Rows(training, length), Rows(evaluation, length, labels)


LABELS = "validation_labels.bin"


def with_prompts(sequences: Sequences) -> Sequences:
    """Generated sequences with an unscored prompt of up to half their tokens."""
    rng = np.random.default_rng(PROMPT_SEED)
    tokens = sequences.tokens
    return Sequences(tokens, rng.integers(1, tokens.shape[1] // 2, len(tokens)))
