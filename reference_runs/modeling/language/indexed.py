"""Megatron's token files: `NAME.bin` contains token ids, `NAME.idx` describes them.

The index: nine bytes of magic, a version (u64), a type code (u8), the numbers of sequences and of
document bounds (u64 each); then for each sequence its number of tokens (i32) and its byte offset
(i64), and the bounds of the documents in sequences (i64). All are little-endian.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

MAGIC, VERSION = b"MMIDIDX\0\0", 1
HEADER = struct.Struct("<9sQBQQ")
TYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
"""Types of token ids; codes 6 and 7 are floating-point."""
CODES = {name: code for code, name in TYPES.items()}


class Index(NamedTuple):
    """The contents of an index."""

    kind: np.dtype[Any]
    lengths: NDArray[np.int32]
    """Number of tokens of each sequence, (S,)."""
    places: NDArray[np.int64]
    """Byte offset of each sequence, (S,)."""
    documents: NDArray[np.int64]
    """Index of the first sequence of each document, and the end of the last."""

    @property
    def bytes(self) -> int:
        """The expected size of the token file."""
        if not len(self.lengths):
            return 0
        return int(self.places[-1]) + int(self.lengths[-1]) * self.kind.itemsize


def read_index(path: Path) -> Index:
    """An index, memory-mapped; raises DataMissing."""
    try:
        with path.open("rb") as stream:
            magic, version, code, count, bounds = HEADER.unpack(stream.read(HEADER.size))
        size = path.stat().st_size
    except (OSError, struct.error) as error:
        raise DataMissing(f"{path} cannot be read as Megatron's index: {error}") from None
    if (magic, version) != (MAGIC, VERSION):
        raise DataMissing(f"{path} is not a Megatron index of version {VERSION}")
    if code not in TYPES:
        raise DataMissing(f"{path} has type {code}; expected {', '.join(TYPES.values())}")
    # Files with several kinds of sequences have a byte for each at the end
    expected = HEADER.size + 12 * count + 8 * bounds
    if size not in (expected, expected + count):
        raise DataMissing(f"{path} has {size} bytes; {count} sequences need {expected}")
    parts, begin = [], HEADER.size
    for kind, length in (("<i4", count), ("<i8", count), ("<i8", bounds)):
        part = np.memmap(path, kind, "r", begin, (length,)) if length else np.empty(0, kind)
        parts.append(part)
        begin += part.nbytes
    return Index(np.dtype(TYPES[code]).newbyteorder("<"), *parts)


def check_places(path: Path, index: Index) -> None:
    """Raise DataMissing if the sequences are not contiguous; reads the index.

    The token file is read as one stream, which the index of a whole dataset allows.
    """
    ends = np.cumsum(index.lengths, dtype=np.int64) * index.kind.itemsize
    wrong = np.flatnonzero(index.places != ends - index.lengths * np.int64(index.kind.itemsize))
    if len(wrong):
        raise DataMissing(f"{path}: sequence {wrong[0]} does not follow the previous one")


def write_index(path: Path, kind: str, lengths: NDArray[np.int32]) -> None:
    """Write the index of documents with one sequence each, contiguous in the file."""
    sizes = lengths.astype("<i4")
    ends = np.cumsum(sizes, dtype=np.int64) * np.dtype(kind).itemsize
    with path.open("wb") as stream:
        head = HEADER.pack(MAGIC, VERSION, CODES[kind], len(sizes), len(sizes) + 1)
        stream.write(head + sizes.tobytes())
        stream.write(np.concatenate(([0], ends[:-1])).astype("<i8")[: len(sizes)].tobytes())
        stream.write(np.arange(len(sizes) + 1, dtype="<i8").tobytes())
