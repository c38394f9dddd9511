"""Compressed logs, one bounded piece at a time: data before a fault is not lost."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO, Any

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
"""First bytes of files in the two compression formats."""

CHUNK = 1 << 16
"""Compressed bytes read at a time; few, because they may expand a thousandfold."""


class BrokenCompressionError(Exception):
    """The compressed data is damaged, or ends in the middle."""


def inflate(stream: IO[bytes], head: bytes) -> Iterator[bytes]:
    """Decompressed pieces of a gzip or zstd stream, of any number of members.

    Raises BrokenCompressionError after all readable pieces, and OSError if the package for zstd is
    missing.
    """
    if head.startswith(GZIP):
        # 31 means a gzip header and the largest window
        yield from _members(stream, lambda: zlib.decompressobj(31), zlib.error)
        return
    try:
        import zstandard
    except ImportError:
        raise OSError(0, "the package zstandard is needed for zstd files") from None
    decompressor = zstandard.ZstdDecompressor()
    yield from _members(stream, decompressor.decompressobj, zstandard.ZstdError)


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
                break  # padding after the last member
    if member is not None:
        raise BrokenCompressionError("the compressed data is truncated")
