"""Compressed logs, one bounded piece at a time: data before a fault is not lost."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import IO, Any

GZIP, ZSTD, BZIP2, XZ = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zX"
"""First bytes of files in the compression formats."""

COMPRESSED, MAGIC = (GZIP, ZSTD, BZIP2, XZ), 4
"""First bytes of compressed files, and the number of bytes that tell the formats apart."""

CHUNK = 1 << 16
"""Compressed bytes read at a time; few, because they may expand a thousandfold."""

_MOST, _MEMORY = 1 << 20, 1 << 27
"""Bytes of one piece from bzip2 or xz, and of memory for xz: its largest preset needs 65 MiB."""


class BrokenCompressionError(Exception):
    """The compressed data is damaged, or ends in the middle."""


def inflate(stream: IO[bytes], head: bytes) -> Iterator[bytes]:
    """Decompressed pieces of a compressed stream, of any number of members.

    Raises BrokenCompressionError after all readable pieces, and OSError if the package for zstd is
    missing.
    """
    if head.startswith(GZIP):
        # 31 means a gzip header and the largest window
        yield from _members(stream, lambda: zlib.decompressobj(31), zlib.error)
        return
    if head.startswith((BZIP2, XZ)):
        yield from _bounded_members(stream, head)
        return
    try:
        import zstandard
    except ImportError:
        raise OSError(0, "the package zstandard is needed for zstd files") from None
    decompressor = zstandard.ZstdDecompressor()
    yield from _members(stream, decompressor.decompressobj, zstandard.ZstdError)


def _bounded_members(stream: IO[bytes], head: bytes) -> Iterator[bytes]:
    """Pieces of a bzip2 or xz stream, each at most 1 MiB: a few bytes may expand to gigabytes."""
    import bz2
    import lzma

    def start() -> Any:
        if head.startswith(BZIP2):
            return bz2.BZ2Decompressor()
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)

    member = None
    while chunk := stream.read(CHUNK):
        while chunk:
            member = member or start()
            try:
                while not member.eof:
                    if piece := member.decompress(chunk, _MOST):
                        yield piece
                    chunk = b""
                    if member.needs_input:
                        break
            except (OSError, lzma.LZMAError) as error:
                raise BrokenCompressionError(str(error)) from error
            if member.eof:
                chunk, member = member.unused_data.lstrip(b"\0"), None
    if member is not None:
        raise BrokenCompressionError("the compressed data is truncated")


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
