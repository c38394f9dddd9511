"""Reads the TFRecord files of the simulations without TensorFlow.

A file is a row of records: length (8 bytes, little end first), its checksum (4), the record, its
checksum (4). A record is a protocol-buffer message `Example`, whose fields by number are:
Example 1 → Features 1 → entry (1 name, 2 Feature); Feature 1 → list of bytes, 2 → list of floats.
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
    """A file's only record: each feature's bytes (floats as 4 bytes each, little end first).

    Raises OSError or ValueError for a file that is no such thing.
    """
    data = path.read_bytes()
    # Gzipped or not, the files have the same names
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 16:
        raise ValueError("the file ends before its record")
    (length,) = struct.unpack_from("<Q", data)
    # Its checksum is not compared: Python's library lacks this kind (CRC-32C)
    record = data[12 : 12 + length]
    if len(record) < length:
        raise ValueError("the file ends within its record")
    found = {}
    for _, features in fields(record):
        for number, entry in fields(features):
            if number == ENTRY:
                parts = dict(fields(entry))
                found[parts[NAME].decode()] = _values(parts[FEATURE])
    return found


def _values(feature: bytes) -> bytes:
    """The first list of values, joined: packed floats stand as one value, others one by one."""
    for _, values in fields(feature):
        return b"".join(value for number, value in fields(values) if number == VALUES)
    return b""
