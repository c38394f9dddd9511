"""Reader from bytes of a log to records, faults and noise; it never raises for any content.

The hot path passes every line with a token to one compiled decoder. It accepts a subset of the
lines that the official reader accepts, with the same result; the slow, exact path examines a line
that it refuses.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.logging_spec.limits import any_too_deep
from podium.logging_spec.reader.inflate import COMPRESSED, MAGIC, BrokenCompressionError, inflate
from podium.logging_spec.reader.line_numbers import LineNumbers, count_lines, unify_line_ends
from podium.logging_spec.reader.log import CRASHING as CRASHING
from podium.logging_spec.reader.log import HEAD, Generation, decode
from podium.logging_spec.reader.log import Fault as Fault
from podium.logging_spec.reader.log import LineFault as LineFault
from podium.logging_spec.reader.log import Log as Log
from podium.logging_spec.reader.recovery import LONGEST_LINE, take_one_by_one
from podium.logging_spec.reader.strays import strays

BLOCK = 1 << 23
"""Maximum bytes of a file that is read at once: nearly every published log is smaller."""

TAIL = 1 << 10
"""Number of final bytes in which the last line that is not blank ends."""

PIECE = 1 << 16
"""Bytes of a larger file that are read at a time (at least a line): they fit in a CPU cache."""


class _Format(msgspec.Struct, frozen=True):
    generation: Generation
    token: bytes
    pattern: re.Pattern[bytes]


_MLLOG = _Format("mllog", b":::MLLOG ", re.compile(rb":::MLLOG (.*)"))
_NONE = _Format("none", b"", re.compile(rb":::MLLOG (.*)"))
_FORMATS = (
    _MLLOG,
    _Format("mll", b":::MLL", re.compile(rb":::MLL(.*)")),
    _Format("mlpv", b":::MLPv", re.compile(rb":::MLPv[0-9.]+ (.*)")),
    _Format("alibaba", b"MLPerf: ", re.compile(rb"MLPerf: (.*)")),
    _NONE,
)
"""Newest first: a file with lines of one format is not searched for an older one."""


def parse_log(data: bytes, prefer: Generation = "mllog") -> Log:
    """Read a whole log from memory (uncompressed); `prefer` as in `read_log`."""
    log = parse_part(data, prefer)
    name_truncation(log)
    return log


def parse_part(data: bytes, prefer: Generation = "mllog") -> Log:
    """Read some lines of a log that may continue: its end is not reported as a truncation."""
    log = Log(size=len(data), data=data, line_count=count_lines(data))
    log.lines = _take(data, _format_of(data, prefer), log, 0, 1)
    return log


def read_log(path: Path | str, prefer: Generation = "mllog") -> Log:
    """Read one file, plain or compressed with gzip or zstd; unreadable parts become faults.

    A file is read in one line format: in `prefer` if it has such lines, else in the newest format
    that it has.
    """
    log = Log()
    try:
        handle, log.size = _open_plain(path)
        try:
            data = os.read(handle, HEAD) if log.size > BLOCK else _whole(handle, log.size)
        finally:
            os.close(handle)
        if data.startswith(COMPRESSED):
            log.compressed = True
            _take_pieces(lambda: _inflated(path), prefer, log)
        elif log.size > BLOCK:
            log.data = data
            _take_pieces(lambda: _pieces(path), prefer, log)
        else:
            log = parse_log(data, prefer)
    except OSError as error:
        log.faults += unread_log(_reason(path, error)).faults
    return log


def _reason(path: Path | str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError) and os.path.islink(path):
        return f"it is a link to {os.readlink(path)}, which does not exist"
    return error.strerror or str(error)


def unread_log(reason: str) -> Log:
    """The log of a file that is not read, with the reason for a fault."""
    return Log(faults=[LineFault(Fault.UNREADABLE, f"cannot be read: {reason}", -1)])


def _whole(handle: int, size: int) -> bytes:
    """The whole content of an open file, which may have grown since its size was read."""
    # One byte more than the size, to detect a file that is still being written
    data = os.read(handle, size + 1)
    if len(data) == size:
        return data
    blocks = [data]
    while block := os.read(handle, BLOCK):
        blocks.append(block)
    return b"".join(blocks)


def _pieces(path: Path | str) -> Iterator[bytes]:
    with open(_open_plain(path)[0], "rb", buffering=0) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _inflated(path: Path | str) -> Iterator[bytes]:
    with open(_open_plain(path)[0], "rb", buffering=0) as stream:
        head = stream.read(MAGIC)
        stream.seek(0)
        yield from inflate(stream, head)


def _open_plain(path: Path | str) -> tuple[int, int]:
    """The handle and the size in bytes of the open file; OSError unless it is a regular file."""
    # Opening a fifo would wait for a writer: open without waiting, and refuse other types.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise OSError(0, f"it is {kind}")
    return handle, status.st_size


def _blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, cut at line ends; noise lines of any length stay bounded."""
    pending: list[bytes] = []
    length = 0
    for piece in pieces:
        # A CR at the end may be half of a CRLF, which the next piece shows
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, -1)) + 1
        if end:
            yield b"".join([*pending, memoryview(piece)[:end]])
            pending, length = [piece[end:]], len(piece) - end
        elif length < LONGEST_LINE:
            pending.append(piece)
            length += len(piece)
    if length:
        yield b"".join(pending)


def _take_pieces(read: Callable[[], Iterator[bytes]], prefer: Generation, log: Log) -> None:
    """Read a file that is too large for one block; `read` starts from the beginning."""
    # Nearly all files have this format: only others are read a second time
    if prefer == _MLLOG.generation and _take_blocks(read(), _MLLOG, log):
        return
    formats: set[_Format] = set()
    with contextlib.suppress(BrokenCompressionError):
        formats.update(_format_of(block, prefer) for block in _blocks(read()))
    # The next pass finds the results of the first pass again
    log.faults = []
    _take_blocks(
        read(),
        min(formats, key=lambda line_format: _order(line_format, prefer), default=_NONE),
        log,
    )


def _take_blocks(pieces: Iterator[bytes], line_format: _Format, log: Log) -> int:
    """Add the content of the pieces to the log; returns the number of lines with a token."""
    position, line = 0, 1
    numbers: list[int] = []
    log.lines = numbers
    try:
        for block in _blocks(pieces):
            block_lines = _take(block, line_format, log, position, line)
            if block_lines.count:
                numbers += [line - 1 + number for number in block_lines]
            position += block_lines.count
            line += count_lines(block)
    except BrokenCompressionError as error:
        message = f"cannot be decompressed completely: {error}"
        log.faults.append(LineFault(Fault.COMPRESSED, message, -1))
    log.line_count = line - 1
    name_truncation(log)
    return position


def name_truncation(log: Log) -> None:
    """Name the fault of a truncated last record: the file ends within it."""
    truncated = [entry for entry in enumerate(log.faults) if entry[1].cut]
    if truncated and log.ends_in_record:
        # Only the last line can be truncated; its fault is the last, except for stray lines
        index, fault = truncated[-1]
        last = log.lines.count if isinstance(log.lines, LineNumbers) else len(log.lines)
        # If the line before is truncated too, lines are cut at some width, not the file
        if fault.position == last - 1 and last - 2 not in {cut.position for _, cut in truncated}:
            message = "the file ends within a record"
            log.faults[index] = replace(fault, kind=Fault.TRUNCATED, message=message)


def _format_of(data: bytes, prefer: Generation) -> _Format:
    formats: tuple[_Format, ...] = _FORMATS
    if prefer != "mllog":
        formats = tuple(sorted(_FORMATS, key=lambda line_format: _order(line_format, prefer)))
    for line_format in formats:
        # `:::MLL` is also the start of the newer token: lines of 0.6 have a blank after it.
        if (b":::MLL " if line_format.generation == "mll" else line_format.token) in data:
            return line_format
    return _NONE


def _order(line_format: _Format, prefer: Generation) -> int:
    return -1 if line_format.generation == prefer else _FORMATS.index(line_format)


def _take(data: bytes, line_format: _Format, log: Log, base: int, line: int) -> LineNumbers:
    """Add the records of the block to the log; returns the lines with a token.

    `base` is the position of the first of them in the log, `line` the line number of the start of
    the block.
    """
    # A bare CR between two JSON tokens would count as whitespace, but it ends the line.
    data = unify_line_ends(data)
    payloads: list[bytes] = line_format.pattern.findall(data)
    if payloads:
        log.generation = line_format.generation
        _take_records(payloads, line_format, log, base)
    log.faults += strays(data, len(payloads), line)
    log.ends_in_record = bool(payloads) and data[-TAIL:].rstrip().endswith(
        payloads[-1][-80:].rstrip()
    )
    offsets = (match.start() for match in line_format.pattern.finditer(data))
    return LineNumbers(data, offsets, len(payloads))


def _take_records(payloads: list[bytes], line_format: _Format, log: Log, base: int) -> None:
    if line_format is not _MLLOG:
        from podium.logging_spec.reader.legacy import take_older

        take_older(payloads, line_format.generation, log, base)
        return
    if any_too_deep(payloads):
        take_one_by_one(payloads, log, base)
        return
    try:
        # All or nothing: one refused line sends the block to the slow path, with the same records
        records = list(map(decode, payloads))
    except (msgspec.DecodeError, UnicodeDecodeError):
        take_one_by_one(payloads, log, base)
        return
    if log.places is not None:
        log.places.extend(range(base, base + len(records)))
    log.records += records
