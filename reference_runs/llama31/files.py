"""Token sequences in files: a stream of tokens that is cut into sequences, as C4 is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.errors import DataMissing
from podium.reference_runs.llama31.data import UNSCORED, Batch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.engine.samples import Wanted
    from podium.reference_runs.llama31.config import Decoder


class TokenFile:
    """Token ids as unsigned 32-bit integers; mapped, so that only what is asked for is read."""

    def __init__(self, path: Path, vocabulary: int) -> None:
        self.path, self._vocabulary = path, vocabulary
        self._tokens = mapped(path, np.uint32)
        # An id that is none most often shows at once: the file is of another type
        self.part(0, min(len(self), 1024))

    def __len__(self) -> int:
        return len(self._tokens)

    def part(self, begin: int, end: int) -> NDArray[np.int64]:
        """Tokens from one place to another, (end - begin,); raises DataMissing."""
        tokens = self._tokens[begin:end]
        high = int(tokens.max(initial=0))
        if high >= self._vocabulary:
            # Two 16-bit ids look like one of 32 bits
            halves = high & 0xFFFF, high >> 16
            narrow = max(halves) < self._vocabulary
            raise DataMissing(
                f"{self.path} holds the token id {high} behind token {begin}; expected unsigned"
                f" 32-bit ids below {self._vocabulary}"
                + ("; these look like 16-bit ids" if narrow else "")
            )
        # torch takes no unsigned numbers for indices
        return tokens.astype(np.int64)


def mapped(path: Path, kind: type[np.generic]) -> NDArray[Any]:
    """A file of numbers of one kind, not read; raises DataMissing."""
    try:
        return np.memmap(path, dtype=kind, mode="r")
    except (OSError, ValueError) as error:
        name = np.dtype(kind).name
        raise DataMissing(f"{path} cannot be read as a row of {name}: {error}") from None


class Stream(torch.utils.data.Dataset[Batch]):
    """A row of tokens, cut into sequences that overlap by one: the last position's target.

    Where the row ends with a sequence, that one's last position has no target, and is not scored.
    """

    def __init__(self, file: TokenFile, length: int, most: int) -> None:
        self._file, self._length = file, length
        self._count = min(len(file) // length, most)

    def __len__(self) -> int:
        return self._count

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        length = self._length
        rows = np.full((len(indices), length + 1), UNSCORED, dtype=np.int64)
        for row, index in zip(rows, indices, strict=True):
            found = self._file.part(index * length, (index + 1) * length + 1)
            row[: len(found)] = found
        whole = torch.from_numpy(rows)
        return Batch(whole[:, :-1], whole[:, 1:])


def from_files(folder: Path, config: Decoder, wanted: Wanted) -> tuple[Stream, Stream]:
    """The tokenised corpus: `train.bin` and `validation.bin`, unsigned 32-bit token ids.

    Of a longer row the first sequences are taken. Raises DataMissing where a file is absent or too
    short, or holds what is no token.
    """
    length = config.max_sequence_length
    files = [TokenFile(folder / f"{part}.bin", config.vocabulary) for part in PARTS]
    training, evaluation = (
        Stream(file, length, most)
        for file, most in zip(files, (wanted.training, wanted.evaluation), strict=True)
    )
    what = f"sequences of {length} tokens"
    wanted.check_training(files[0].path, len(training), what)
    wanted.check_evaluation(files[1].path, len(evaluation), what)
    return training, evaluation


PARTS = ("train", "validation")
