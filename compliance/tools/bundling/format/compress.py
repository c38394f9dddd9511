"""Compress and expand archives as streams: memory does not grow with the archive."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from enum import StrEnum
from typing import IO, Any, NamedTuple, Protocol

from podium.compliance.tools.bundling.format.archive import CHUNK, Writer
from podium.compliance.tools.bundling.format.refusal import Damaged

ZSTD_LEVEL = 6
GZIP_LEVEL = 6

BITE = 1 << 10
"""Compressed bytes per step: even a zstd bomb expands them to at most 32 MiB."""

WIDEST_WINDOW = 1 << 27
"""The largest window of a zstd frame in bytes, which is the limit of the zstd command."""


class Compression(StrEnum):
    """The compression of an archive."""

    ZSTD = "tar.zst"
    GZIP = "tar.gz"
    PLAIN = "tar"


_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257

HEAD = 512
"""Number of bytes that identify a format."""


def compression_of(head: bytes) -> Compression | None:
    """The compression of a stream, from its first bytes; None for an unsupported format."""
    if head.startswith(_GZIP_MAGIC):
        return Compression.GZIP
    if head.startswith(_ZSTD_MAGIC):
        return Compression.ZSTD
    if head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        return Compression.PLAIN
    return None


class Source(Protocol):
    """A source of bytes: returns at most `size` bytes, and an empty string only at the end."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; raises Damaged for invalid data."""


class Closing(Writer, Protocol):
    """A writer that must be closed; the stream below it stays open."""

    def close(self) -> None:
        """Write what is still buffered."""


def compressing(compression: Compression, out: IO[bytes]) -> Closing:
    """A writer that compresses into `out` deterministically: no name, no time, one thread."""
    if compression is Compression.GZIP:
        return gzip.GzipFile("", "wb", GZIP_LEVEL, out, mtime=0)
    if compression is Compression.ZSTD:
        import zstandard

        # Only the checksum detects damage in data that still expands
        shape = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True)
        return shape.stream_writer(out, closefd=False)
    return _Plain(out)


class _Plain:
    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, data: bytes, /) -> int:
        return self._out.write(data)

    def close(self) -> None:
        """Do nothing: this writer has no buffer."""


def expanding(compression: Compression, source: Source) -> Source:
    """A reader of compressed data; incomplete or invalid data raises Damaged."""
    if compression is Compression.PLAIN:
        return source
    return _Expanding(source, _gzip() if compression is Compression.GZIP else _zstd())


class _Expanding:
    """A sequence of compressed frames, each of which must be complete."""

    def __init__(self, source: Source, kind: _Frames) -> None:
        self._source, self._kind = source, kind
        self._given, self._at = b"", 0
        self._made = io.BytesIO()
        self._frame: Any = None

    def read(self, size: int, /) -> bytes:
        while not (data := self._made.read(size)):
            bite = self._bite()
            if not bite:
                # The libraries accept input that ends inside a frame
                if self._frame is not None:
                    raise Damaged("the compressed data is truncated")
                return b""
            self._made = io.BytesIO(self._expanded(bite))
        return data

    def _bite(self) -> bytes:
        if self._at >= len(self._given):
            self._given, self._at = self._source.read(CHUNK), 0
        bite = self._given[self._at : self._at + BITE]
        self._at += len(bite)
        return bite

    def _expanded(self, bite: bytes) -> bytes:
        if self._frame is None:
            bite = bite.lstrip(self._kind.padding)
            if not bite:
                return b""
            self._frame = self._kind.start()
        frame = self._frame
        try:
            data: bytes = frame.decompress(bite)
        except self._kind.fault:
            raise Damaged("the compressed data is damaged") from None
        # Frames may be concatenated: the rest of the data belongs to the next frame
        if frame.eof:
            self._at -= len(frame.unused_data)
            self._frame = None
        return data


class _Frames(NamedTuple):
    """The frames of one format: a decompressor, its error, and the padding between frames."""

    start: Callable[[], Any]
    fault: type[Exception]
    padding: bytes = b""


def _gzip() -> _Frames:
    # 31 = 16 + 15: 16 for a gzip header, which zlib checks and skips, and 15 for the largest
    # window. `gzip` and tapes fill the last record with zeros
    return _Frames(lambda: zlib.decompressobj(31), zlib.error, b"\0")


def _zstd() -> _Frames:
    import zstandard

    maker = zstandard.ZstdDecompressor(max_window_size=WIDEST_WINDOW)
    return _Frames(maker.decompressobj, zstandard.ZstdError)
