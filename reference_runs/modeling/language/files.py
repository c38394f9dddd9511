"""Token sequences in files: a stream of tokens that is cut into sequences, like C4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from podium.reference_runs.errors import DataMissing
from podium.reference_runs.modeling.language.corpus import UNSCORED, Batch
from podium.reference_runs.modeling.language.indexed import check_places, read_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from podium.reference_runs.engine.samples import DatasetSize
    from podium.reference_runs.modeling.language.config import DecoderConfig


class TokenFile:
    """Token ids, memory-mapped, so that only the requested parts are read.

    Their type is from Megatron's index in the same folder, or unsigned 32-bit integers.
    """

    def __init__(self, path: Path, vocabulary: int) -> None:
        self.path, self._vocabulary = path, vocabulary
        index = path.with_suffix(".idx")
        self.index = read_index(index) if index.exists() else None
        self._tokens = mapped(path, self.index.kind if self.index else np.dtype(np.uint32))
        if self.index and self.index.bytes != self._tokens.nbytes:
            raise DataMissing(
                f"{path} has {self._tokens.nbytes} bytes; {index.name} expects {self.index.bytes}"
            )
        # An invalid id usually shows at once: the file has another type
        self.part(0, min(len(self), 1024))

    def __len__(self) -> int:
        return len(self._tokens)

    def part(self, begin: int, end: int) -> NDArray[np.int64]:
        """Tokens from one position to another, (end - begin,); raises DataMissing."""
        tokens = self._tokens[begin:end]
        for wrong in (int(tokens.max(initial=0)), int(tokens.min(initial=0))):
            if not 0 <= wrong < self._vocabulary:
                raise DataMissing(
                    f"{self.path} contains the token id {wrong} after token {begin}; expected"
                    f" {self._expected(wrong)}"
                )
        # torch does not accept unsigned integers as indices
        return tokens.astype(np.int64)

    def check(self) -> None:
        """Raise DataMissing if the index does not describe a contiguous stream; reads the index."""
        if self.index:
            check_places(self.path.with_suffix(".idx"), self.index)

    def _expected(self, wrong: int) -> str:
        if self.index:
            return f"ids from 0, below {self._vocabulary}"
        # Two 16-bit ids look like one 32-bit id
        narrow = max(wrong & 0xFFFF, wrong >> 16) < self._vocabulary
        hint = "; these look like 16-bit ids" if narrow else ""
        return f"unsigned 32-bit ids below {self._vocabulary}{hint}"


def mapped(path: Path, kind: np.dtype[Any]) -> NDArray[Any]:
    """A memory-mapped file of numbers of one type; raises DataMissing."""
    try:
        return np.memmap(path, dtype=kind, mode="r")
    except (OSError, ValueError) as error:
        raise DataMissing(f"{path} cannot be read as an array of {kind.name}: {error}") from None


class Stream(torch.utils.data.Dataset[Batch]):
    """A stream of tokens, cut into sequences that overlap by one token: the last position's target.

    If the stream ends with a sequence, the last position has no target and is not scored.
    """

    def __init__(self, file: TokenFile, length: int, most: int | None = None) -> None:
        self._file, self._length = file, length
        count = len(file) // length
        self._count = count if most is None else min(count, most)

    def __len__(self) -> int:
        return self._count

    def check(self) -> None:
        """Raise DataMissing for errors that opening the file does not check, to save time."""
        self._file.check()

    def __getitems__(self, indices: Sequence[int]) -> Batch:
        """Sequences by index."""
        length = self._length
        rows = np.full((len(indices), length + 1), UNSCORED, dtype=np.int64)
        for row, index in zip(rows, indices, strict=True):
            tokens = self._file.part(index * length, (index + 1) * length + 1)
            row[: len(tokens)] = tokens
        whole = torch.from_numpy(rows)
        return Batch(whole[:, :-1], whole[:, 1:])


def from_files(folder: Path, config: DecoderConfig, expected: DatasetSize) -> tuple[Stream, Stream]:
    """The tokenized corpus: `train.bin` and `validation.bin`, as `TokenFile` reads them.

    All training sequences are used, and the first evaluation sequences. Raises DataMissing if a
    file is missing or too short, or contains an invalid token id.
    """
    length = config.max_sequence_length
    files = [TokenFile(folder / f"{part}.bin", config.vocabulary) for part in PARTS]
    most = None if expected.more_training else expected.training
    training = Stream(files[0], length, most)
    evaluation = Stream(files[1], length, expected.evaluation)
    what = f"sequences of {length} tokens"
    expected.check_training(files[0].path, len(training), what)
    expected.check_evaluation(files[1].path, len(evaluation), what)
    return training, evaluation


PARTS = ("train", "validation")
