"""Reads the TFRecord files of the simulations without TensorFlow.

A file is a row of records: length (8 bytes, little end first), its checksum (4), the record, its
checksum (4). A record is a protocol-buffer message `Example`, whose fields by number are:
Example 1 → Features 1 → entry (1 name, 2 Feature); Feature 1 → list of bytes, 2 → list of floats.
"""

from __future__ import annotations

import gzip
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
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


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """A message's fields by number; raises ValueError for bytes that are none."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                end = _varint(message, at)[1]
            case 1:
                end = at + 8
            case 2:
                length, at = _varint(message, at)
                end = at + length
            case 5:
                end = at + 4
            case kind:
                raise ValueError(f"a field is of kind {kind}")
        if end > len(message):
            raise ValueError("a field ends behind its message")
        yield tag >> 3, message[at:end]
        at = end


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number, seven bits in each byte, and where it ends."""
    value = shift = 0
    # Ten bytes hold 64 bits: a longer number is damage
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number does not end")
