"""A growing log, whose file is followed and read in pieces.

At the end the log is the same as if it were read at once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from msgspec import structs
from msgspec.structs import replace

from podium.logging_spec.reader.inflate import COMPRESSED
from podium.logging_spec.reader.line_numbers import count_lines
from podium.logging_spec.reader.log import HEAD, Log
from podium.logging_spec.reader.read import name_truncation, parse_part, read_log
from podium.logging_spec.reader.record import Record

_AGE = ("mllog", "mll", "mlpv", "alibaba", "none")
"""Line formats, newest first: lines of a format older than the newest in the file are ignored."""

_LONGEST = 1 << 28


class GrowingLog:
    """The complete lines of a log so far, and the start of the next line."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.log = Log(places=[])
        self.rest = b""
        self.lines = 0
        self.odd = False
        self.compressed = False
        self.begun_anew = False

    def feed(self, data: bytes) -> list[Record]:
        """Read new bytes; returns the records that they complete."""
        if self.compressed or (not self.log.size and data.startswith(COMPRESSED)):
            self.compressed = True
            return self._read_again()
        data = self.rest + data
        # A lone CR ends a line too, but the last one may be half of a CRLF
        cut = data.rfind(b"\n") + 1
        # Data without line ends is hardly a log and must not fill the memory
        if not cut and len(data) > _LONGEST:
            cut = len(data)
        self.rest = data[cut:]
        return self._take(data[:cut]) if cut else []

    def whole(self) -> Log:
        """The log, including a last line without an end."""
        log = self.log
        if self.rest:
            # On a copy, as the line may still grow
            last = GrowingLog(self.path)
            last.lines, last.odd = self.lines, self.odd
            last.log = replace(
                log,
                records=log.records[:],
                faults=log.faults[:],
                lenient=log.lenient[:],
                timeless=log.timeless[:],
                places=[*(log.places or ())],
                lines=[*log.lines],
            )
            last._take(self.rest)
            log, is_odd = last.log, last.odd
        else:
            is_odd = self.odd
        log = replace(log, faults=log.faults[:])
        if not self.compressed:
            log.line_count = self.lines + count_lines(self.rest)
        name_truncation(log)
        # Where each token-bearing line is a record, `places` is left out, as by the reader.
        return log if is_odd or self.compressed else replace(log, places=None)

    def _take(self, data: bytes) -> list[Record]:
        piece = parse_part(data)
        log = self.log
        log.size += len(data)
        if len(log.data) < HEAD:
            log.data += data[: HEAD - len(log.data)]
        # A file with two formats counts as the newer one
        older = _AGE.index(piece.generation) - _AGE.index(log.generation)
        numbers = [self.lines + line for line in piece.lines]
        strays = [
            structs.replace(fault, line=self.lines + (fault.line or 0))
            for fault in piece.faults
            if fault.is_stray
        ]
        # The official verifier opens logs with universal newlines, where a lone CR ends a line
        self.lines += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
        if data.strip():
            log.ends_in_record = piece.ends_in_record and older <= 0
        if piece.generation == "none" or older > 0:
            log.faults += strays
            return []
        if older < 0:
            self.begun_anew = bool(log.records or log.faults)
            stray_faults = [fault for fault in log.faults if fault.is_stray]
            self.log = log = Log(
                piece.generation, places=[], size=log.size, data=log.data, faults=stray_faults
            )
            log.ends_in_record = piece.ends_in_record
            self.odd = False
        assert isinstance(log.lines, list)
        base = len(log.lines)
        log.lines += numbers
        log.records += piece.records
        log.faults += (
            structs.replace(f, position=f.position + base) for f in piece.faults if not f.is_stray
        )
        log.faults += strays
        log.lenient += ((base + offset, record) for offset, record in piece.lenient)
        log.timeless += ((base + offset, record) for offset, record in piece.timeless)
        offsets = range(len(piece.records)) if piece.places is None else piece.places
        assert log.places is not None
        log.places += (base + offset for offset in offsets)
        self.odd = self.odd or piece.places is not None
        return piece.records

    def _read_again(self) -> list[Record]:
        """Read a compressed file from its start."""
        previous_count = len(self.log.records)
        self.log = read_log(self.path)
        return self.log.records[previous_count:]


def _no_file(path: str) -> str:
    if os.path.isdir(path):
        return "is a folder; name the logs in it"
    return "is not a regular file"


BLOCK = 1 << 24
"""Bytes read at a time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """New bytes, or a change of the file: truncated or replaced."""

    kind: Literal["data", "truncated", "replaced"]
    data: bytes = b""


class Tail:
    """The end of a growing file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.seen = False
        self.problem = ""
        self._handle: int | None = None
        self._place = 0

    def poll(self) -> Iterator[Piece]:
        """The pieces since the last call."""
        if self._handle is None:
            self._open()
        if self._handle is None:
            return
        yield from self._grown(self._handle)
        # The old file may have grown before it was replaced, so it is read to its end
        if self._was_replaced(self._handle):
            yield from self._grown(self._handle)
            yield Piece("replaced")
            self.close()
            self._open()
            if self._handle is not None:
                yield from self._grown(self._handle)

    def close(self) -> None:
        """Close the file; the next call of `poll` opens it again."""
        if self._handle is not None:
            os.close(self._handle)
        self._handle, self._place = None, 0

    def _open(self) -> None:
        # Opening a fifo would wait for a writer, so only regular files are read
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
            self.problem = _no_file(self.path)
            return
        self._handle, self._place, self.seen, self.problem = handle, 0, True, ""

    def _grown(self, handle: int) -> Iterator[Piece]:
        # A truncated file that has grown past this position since the last poll is not detected
        if os.fstat(handle).st_size < self._place:
            os.lseek(handle, 0, os.SEEK_SET)
            self._place = 0
            yield Piece("truncated")
        while data := os.read(handle, BLOCK):
            self._place += len(data)
            yield Piece("data", data)

    def _was_replaced(self, handle: int) -> bool:
        """Whether another file has the name now; a file that was only moved is still read."""
        try:
            path_status = os.stat(self.path)
        except OSError:
            return False
        file_status = os.fstat(handle)
        return (path_status.st_dev, path_status.st_ino) != (file_status.st_dev, file_status.st_ino)
