"""Compressed logs, a bounded piece at a time: what comes before a fault is not lost."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO, Any

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""How files of the two compressions begin."""

CHUNK = 1 << 16
"""Compressed bytes read at a time; little, since they may swell a thousandfold."""


class BrokenCompressionError(Exception):
    """The compressed data is damaged, or ends in the middle."""


def inflate(stream: IO[bytes], head: bytes) -> Iterator[bytes]:
    """Decompressed pieces of a gzip or zstd stream, of any number of members.

    Raises BrokenCompressionError once all that could be read was given, OSError where the
    package for zstd is missing.
    """
    if head.startswith(GZIP):
        # 31 stands for a gzip header and the largest window
        yield from _members(stream, lambda: zlib.decompressobj(31), zlib.error)
        return
    try:
        import zstandard
    except ImportError:
        raise OSError(0, "the package zstandard is needed for zstd files") from None
    maker = zstandard.ZstdDecompressor()
    yield from _members(stream, maker.decompressobj, zstandard.ZstdError)


def _members(stream: IO[bytes], start: Any, fault: type[Exception]) -> Iterator[bytes]:
    member = None
    while chunk := stream.read(CHUNK):
        while chunk:
            if member is None:
                member = start()
            try:
                piece = member.decompress(chunk)
            except fault as error:
                raise BrokenCompressionError(str(error)) from error
            if piece:
                yield piece
            if not member.eof:
                break
            chunk, member = member.unused_data, None
            if not chunk.strip(b"\0"):
                break  # padding behind the last member
    if member is not None:
        raise BrokenCompressionError("it ends in the middle")
