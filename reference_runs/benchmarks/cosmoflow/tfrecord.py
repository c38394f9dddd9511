"""Reads the TFRecord files of the simulations without TensorFlow.

A file is a sequence of records: length (8 bytes, little-endian), its checksum (4), the record, its
checksum (4). A record is a protocol-buffer message `Example`, whose fields by number are: Example 1
→ Features 1 → entry (1 name, 2 Feature); Feature 1 → list of bytes, 2 → list of floats.
"""

from __future__ import annotations

import gzip
import struct
from typing import TYPE_CHECKING

from podium.logging_spec.reader.protobuf import fields

if TYPE_CHECKING:
    from pathlib import Path

ENTRY, NAME, FEATURE, VALUES = 1, 1, 2, 1


def read_example(path: Path) -> dict[str, bytes]:
    """A file's only record: each feature's bytes (floats as 4 bytes each, little-endian).

    Raises OSError or ValueError for an invalid file.
    """
    data = path.read_bytes()
    # The file names do not show whether they are gzipped
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 16:
        raise ValueError("the file ends before its record")
    (length,) = struct.unpack_from("<Q", data)
    # Its checksum is not compared: Python's library lacks this kind (CRC-32C)
    record = data[12 : 12 + length]
    if len(record) < length:
        raise ValueError("the file ends within its record")
    example = {}
    for _, features in fields(record):
        for number, entry in fields(features):
            if number == ENTRY:
                parts = dict(fields(entry))
                example[parts[NAME].decode()] = _values(parts[FEATURE])
    return example


def _values(feature: bytes) -> bytes:
    """The first list of values, joined: packed floats are one value, others several."""
    for _, values in fields(feature):
        return b"".join(value for number, value in fields(values) if number == VALUES)
    return b""
