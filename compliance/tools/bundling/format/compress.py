"""Compression of archives, both ways, in pieces: memory does not grow with the archive."""

from __future__ import annotations

import gzip
import io
import zlib
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Protocol

from podium.compliance.tools.bundling.format.archive import CHUNK, Writer
from podium.compliance.tools.bundling.format.refusal import Damaged

if TYPE_CHECKING:
    import zstandard

ZSTD_LEVEL = 6
GZIP_LEVEL = 6

ZSTD_CHUNK = 1 << 10
"""Compressed bytes given to zstd at once: even a bomb makes no more than 32 MiB of them."""

WIDEST_WINDOW = 1 << 27
"""Bytes of memory that a zstd frame may ask for, the limit of its own command."""


class Compression(StrEnum):
    """How an archive is compressed."""

    ZSTD = "tar.zst"
    GZIP = "tar.gz"
    PLAIN = "tar"


_GZIP_MAGIC, _ZSTD_MAGIC = b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257

HEAD = 512
"""Bytes by which a stream is recognised."""


def compression_of(head: bytes) -> Compression | None:
    """The compression of a stream by its first bytes; None for one that podium does not read."""
    if head.startswith(_GZIP_MAGIC):
        return Compression.GZIP
    if head.startswith(_ZSTD_MAGIC):
        return Compression.ZSTD
    if head[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC):
        return Compression.PLAIN
    return None


class Source(Protocol):
    """What bytes are read from: at most `size` of them, none at the end only."""

    def read(self, size: int, /) -> bytes:
        """The next bytes; raises Damaged where they are not what they should be."""


class Closing(Writer, Protocol):
    """A writer that must be closed; the stream below it stays open."""

    def close(self) -> None:
        """Write what is still buffered."""


def compressing(compression: Compression, out: IO[bytes]) -> Closing:
    """A writer that compresses into `out`: no name, no time, one thread, so always alike."""
    if compression is Compression.GZIP:
        return gzip.GzipFile("", "wb", GZIP_LEVEL, out, mtime=0)
    if compression is Compression.ZSTD:
        import zstandard

        # The checksum is what shows damage inside data that still expands
        shape = zstandard.ZstdCompressor(level=ZSTD_LEVEL, write_checksum=True)
        return shape.stream_writer(out, closefd=False)
    return _Plain(out)


class _Plain:
    def __init__(self, out: IO[bytes]) -> None:
        self._out = out

    def write(self, data: bytes, /) -> int:
        return self._out.write(data)

    def close(self) -> None:
        """Nothing is held back."""


def expanding(compression: Compression, source: Source) -> Source:
    """A reader of what was compressed; whatever is not whole and right raises Damaged."""
    if compression is Compression.GZIP:
        return _Gzip(source)
    return _Zstd(source) if compression is Compression.ZSTD else source


class _Raw(io.RawIOBase):
    """A source as the file that the gzip module wants."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, room: object, /) -> int:
        view = memoryview(room)  # type: ignore[arg-type]  # the protocol of buffers has no name
        data = self._source.read(len(view))
        view[: len(data)] = data
        return len(data)


class _Gzip:
    def __init__(self, source: Source) -> None:
        self._stream = gzip.GzipFile(fileobj=io.BufferedReader(_Raw(source), CHUNK))

    def read(self, size: int, /) -> bytes:
        try:
            return self._stream.read(size)
        except EOFError:  # how gzip reports a stream without its end
            raise Damaged("the compressed data is cut short") from None
        except (gzip.BadGzipFile, zlib.error):
            raise Damaged("the compressed data is damaged") from None


class _Zstd:
    """Frames one after another, each of which must end."""

    def __init__(self, source: Source) -> None:
        import zstandard

        self._faults = zstandard.ZstdError
        self._maker = zstandard.ZstdDecompressor(max_window_size=WIDEST_WINDOW)
        self._source = source
        self._given, self._at = b"", 0
        self._made = io.BytesIO()
        self._frame: zstandard.ZstdDecompressionObj | None = None

    def read(self, size: int, /) -> bytes:
        while not (data := self._made.read(size)):
            bite = self._bite()
            if not bite:
                # zstandard itself accepts input that ends inside a frame
                if self._frame is not None:
                    raise Damaged("the compressed data is cut short")
                return b""
            self._made = io.BytesIO(self._expanded(bite))
        return data

    def _bite(self) -> bytes:
        if self._at >= len(self._given):
            self._given, self._at = self._source.read(CHUNK), 0
        bite = self._given[self._at : self._at + ZSTD_CHUNK]
        self._at += len(bite)
        return bite

    def _expanded(self, bite: bytes) -> bytes:
        frame = self._frame or self._maker.decompressobj()
        try:
            data = frame.decompress(bite)
        except self._faults:
            raise Damaged("the compressed data is damaged") from None
        self._frame = frame
        # Frames may be concatenated: what follows one is given to the next
        if frame.eof:
            self._at -= len(frame.unused_data)
            self._frame = None
        return data
