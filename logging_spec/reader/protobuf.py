"""Fields of protocol-buffer messages by number, without the library.

Source: the description of the encoding, protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator


def fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message by number, each as bytes; raises ValueError for invalid bytes.

    `whole` reads an integer from the bytes of a field.
    """
    offset = 0
    while offset < len(message):
        tag, offset = _varint(message, offset)
        match tag & 7:
            case 0:
                end = _varint(message, offset)[1]
            case 1:
                end = offset + 8
            case 2:
                length, offset = _varint(message, offset)
                end = offset + length
            case 5:
                end = offset + 4
            case kind:
                raise ValueError(f"a field is of kind {kind}")
        if end > len(message):
            raise ValueError("a field ends beyond its message")
        yield tag >> 3, message[offset:end]
        offset = end


def whole(value: bytes) -> int:
    """The signed integer (int64) of a field; raises ValueError for invalid bytes."""
    number, _ = _varint(value, 0)
    return number - (1 << 64) if number >> 63 else number


def _varint(message: bytes, offset: int) -> tuple[int, int]:
    """A number, seven bits in each byte, and its end."""
    value = shift = 0
    # Ten bytes contain 64 bits: a longer number is corrupt
    while offset < len(message) and shift < 64:
        byte = message[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
    raise ValueError("a number does not end")
