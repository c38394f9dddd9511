"""Fields of protocol-buffer messages by number, without the library.

Source: the description of the encoding, protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message by number, each as bytes; raises ValueError for invalid bytes.

    `whole` reads an integer from the bytes of a field.
    """
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


def whole(value: bytes) -> int:
    """The signed integer (int64) of a field; raises ValueError for invalid bytes."""
    number, _ = _varint(value, 0)
    return number - (1 << 64) if number >> 63 else number


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number, seven bits in each byte, and its end."""
    value = shift = 0
    # Ten bytes contain 64 bits: a longer number is corrupt
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number does not end")
