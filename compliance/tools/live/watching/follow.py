"""A growing file: only its new bytes are read; it may be replaced, or not exist yet."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

BLOCK = 1 << 24
"""Bytes read at a time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """New bytes; or a change of the file: truncated, or replaced by another."""

    kind: Literal["data", "anew", "replaced"]
    data: bytes = b""


class Tail:
    """The end of a file, read as it grows."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.seen = False
        self.problem = ""
        self._handle: int | None = None
        self._place = 0

    def poll(self) -> Iterator[Piece]:
        """What is new since the last call."""
        if self._handle is None:
            self._open()
        if self._handle is None:
            return
        yield from self._grown(self._handle)
        # More may have come between that reading and this look: the old file is read to its end
        if self._was_replaced(self._handle):
            yield from self._grown(self._handle)
            yield Piece("replaced")
            self.close()
            self._open()
            if self._handle is not None:
                yield from self._grown(self._handle)

    def close(self) -> None:
        """Close the file; the next call of `poll` starts with it again."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self._place = None, 0

    def _open(self) -> None:
        # Opening a fifo would wait for a writer, so nothing waits, and only a file is read.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(self.path, flags)
        except FileNotFoundError:
            self.problem = ""
            return
        except OSError as error:
            self.problem = f"cannot be read: {error.strerror or error}"
            return
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            self.problem = "is not a regular file"
            return
        self._handle, self._place, self.seen, self.problem = handle, 0, True, ""

    def _grown(self, handle: int) -> Iterator[Piece]:
        # A file cut short that has grown past this place since the last poll goes unnoticed
        if os.fstat(handle).st_size < self._place:
            os.lseek(handle, 0, os.SEEK_SET)
            self._place = 0
            yield Piece("anew")
        while data := os.read(handle, BLOCK):
            self._place += len(data)
            yield Piece("data", data)

    def _was_replaced(self, handle: int) -> bool:
        """Whether another file has the name now. One that was only moved is read on."""
        try:
            there = os.stat(self.path)
        except OSError:
            return False
        here = os.fstat(handle)
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)
