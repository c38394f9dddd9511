"""Logs compressed with bzip2 or xz: size of pieces, several members, and errors."""

from __future__ import annotations

import bz2
import io
import lzma
from collections.abc import Callable

import pytest

from podium.logging_spec.reader.inflate import BrokenCompressionError, inflate

FORMATS = pytest.mark.parametrize("compress", [bz2.compress, lzma.compress])


def inflated(data: bytes) -> list[bytes]:
    return list(inflate(io.BytesIO(data), data[:4]))


@FORMATS
def test_several_members_are_read_completely(compress: Callable[[bytes], bytes]) -> None:
    assert b"".join(inflated(compress(b"one\n") + compress(b"two\n"))) == b"one\ntwo\n"


@FORMATS
def test_pieces_of_highly_compressed_data_are_small(compress: Callable[[bytes], bytes]) -> None:
    pieces = inflated(compress(bytes(64 << 20)))
    assert max(map(len, pieces)) <= 1 << 20
    assert sum(map(len, pieces)) == 64 << 20


@FORMATS
def test_data_before_an_error_is_returned(compress: Callable[[bytes], bytes]) -> None:
    stream = inflate(io.BytesIO(compress(b"one\n") + compress(b"two\n")[:-6]), compress(b"")[:4])
    assert next(stream) == b"one\n"
    with pytest.raises(BrokenCompressionError):
        list(stream)


@FORMATS
def test_invalid_data_after_the_magic_bytes_is_an_error(
    compress: Callable[[bytes], bytes],
) -> None:
    with pytest.raises(BrokenCompressionError):
        inflated(compress(b"one\n")[:4] + b":::MLLOG {}\n" * 99)
