"""Bytes of a log to records, faults and noise; total: no content makes it raise.

The hot path hands every token-bearing line of an ordinary file to one compiled decoder. It accepts
a subset of what the official reader accepts, with the same result; a line it refuses is looked at
again, slowly and exactly.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from podium.logging_spec.reader.inflate import GZIP, ZSTD, BrokenCompressionError, inflate
from podium.logging_spec.reader.line_numbers import LineNumbers, has_bare_cr, unify_line_ends
from podium.logging_spec.reader.log import CRASHING as CRASHING
from podium.logging_spec.reader.log import HEAD, Generation, decode, decode_brief, text_of
from podium.logging_spec.reader.log import Fault as Fault
from podium.logging_spec.reader.log import LineFault as LineFault
from podium.logging_spec.reader.log import Log as Log
from podium.logging_spec.reader.record import Record

BLOCK = 1 << 23
"""Bytes of a file that is read at once: nearly every published log is smaller."""

PIECE = 1 << 16
"""Bytes of a larger file that are read at a time, or one line: they fit in a processor's cache."""

LONGEST_LINE = 1 << 28
"""A single line beyond this many bytes is not decoded: it is reported."""


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
"""Newest first: a file that holds lines of one format is not looked through for an older one."""

_BLANKS = b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0"
"""What the official reader strips: white space of latin-1 text."""


def parse_log(data: bytes, prefer: Generation = "mllog") -> Log:
    """Read a whole log from memory (uncompressed); `prefer` as in `read_log`."""
    log = Log(size=len(data))
    _take_whole(data, prefer, log)
    return log


def read_log(path: Path | str, prefer: Generation = "mllog", *, brief: bool = False) -> Log:
    """Read one file, also gzip- or zstd-compressed; what cannot be read becomes a fault.

    A file is read by one line format: by `prefer` if it holds lines of it, else by the newest one
    that it holds. `brief` leaves out of metadata what no rule looks at, where that is quicker;
    `Log.entire` still gives a whole record.
    """
    log = Log()
    try:
        handle, log.size = _open_plain(path)
        try:
            data = os.read(handle, HEAD) if log.size > BLOCK else _whole(handle, log.size)
        finally:
            os.close(handle)
        if data.startswith((GZIP, ZSTD)):
            _take_pieces(lambda: _inflated(path), prefer, log)
        elif log.size > BLOCK:
            log.data = data
            _take_pieces(lambda: _pieces(path), prefer, log)
        else:
            _take_whole(data, prefer, log, brief)
    except OSError as error:
        log.faults += unread_log(error.strerror or str(error)).faults
    return log


def unread_log(reason: str) -> Log:
    """The log of a file that is not read, with the reason for a fault."""
    return Log(faults=[LineFault(Fault.UNREADABLE, f"cannot be read: {reason}", -1)])


def _whole(handle: int, size: int) -> bytes:
    """All that an open file holds; it may have grown since its size was looked up."""
    data = os.read(handle, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    while part := os.read(handle, BLOCK):
        parts.append(part)
    return b"".join(parts)


def _pieces(path: Path | str) -> Iterator[bytes]:
    with open(_open_plain(path)[0], "rb", buffering=0) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _inflated(path: Path | str) -> Iterator[bytes]:
    with open(_open_plain(path)[0], "rb", buffering=0) as stream:
        head = stream.read(len(ZSTD))
        stream.seek(0)
        yield from inflate(stream, head)


def _open_plain(path: Path | str) -> tuple[int, int]:
    """The open file's handle and its size in bytes; OSError for what is no regular file."""
    # Opening a fifo would wait for a writer, so nothing waits, and what is no file is refused.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise OSError(0, f"it is {what}")
    return handle, status.st_size


def _blocks(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces cut where lines end; noise lines of any length stay bounded."""
    held: list[bytes] = []
    length = 0
    for piece in pieces:
        cut = max(piece.rfind(b"\n"), piece.rfind(b"\r", 0, -1)) + 1
        if cut:
            yield b"".join([*held, memoryview(piece)[:cut]])
            held, length = [piece[cut:]], len(piece) - cut
        elif length < LONGEST_LINE:
            held.append(piece)
            length += len(piece)
    if length:
        yield b"".join(held)


def _take_whole(data: bytes, prefer: Generation, log: Log, brief: bool = False) -> None:
    form = _format_of(data, prefer)
    log.data = data
    lines = _take(data, form, log, 0, brief)
    # In a file of nothing but records each is a line of its own.
    alone = log.noise == (0 if data.endswith(b"\n") else -1) and b"\r" not in data
    log.lines = range(1, lines.count + 1) if alone else lines


def _take_pieces(read: Callable[[], Iterator[bytes]], prefer: Generation, log: Log) -> None:
    """Take a file too large for one block; `read` begins it anew."""
    if prefer == _MLLOG.generation and _take_blocks(read(), _MLLOG, log):
        return
    forms: set[_Format] = set()
    with contextlib.suppress(BrokenCompressionError):
        forms.update(_format_of(block, prefer) for block in _blocks(read()))
    log.faults, log.noise = [], 0
    _take_blocks(read(), min(forms, key=lambda one: _order(one, prefer), default=_NONE), log)


def _take_blocks(pieces: Iterator[bytes], form: _Format, log: Log) -> int:
    """Add all that the pieces hold to the log; returns how many token-bearing lines that is."""
    position, line = 0, 1
    numbers: list[int] = []
    log.lines = numbers
    try:
        for block in _blocks(pieces):
            taken = _take(block, form, log, position)
            if taken.count:
                numbers += [line - 1 + each for each in taken]
            position += taken.count
            line += _line_ends(block)
    except BrokenCompressionError as error:
        message = f"cannot be decompressed to its end: {error}"
        log.faults.append(LineFault(Fault.COMPRESSED, message, -1))
    return position


def _format_of(data: bytes, prefer: Generation) -> _Format:
    forms: tuple[_Format, ...] = _FORMATS
    if prefer != "mllog":
        forms = tuple(sorted(_FORMATS, key=lambda form: _order(form, prefer)))
    for form in forms:
        # `:::MLL` alone begins the newer token as well: lines of 0.6 have a blank behind it.
        if (b":::MLL " if form.generation == "mll" else form.token) in data:
            return form
    return _NONE


def _order(form: _Format, prefer: Generation) -> int:
    return -1 if form.generation == prefer else _FORMATS.index(form)


def _line_ends(block: bytes) -> int:
    return unify_line_ends(block).count(b"\n")


def _take(data: bytes, form: _Format, log: Log, base: int, brief: bool = False) -> LineNumbers:
    """Add the block's records to the log; returns the lines that bore a token."""
    payloads: list[bytes] = form.pattern.findall(data)
    if payloads:
        log.generation = form.generation
    log.noise += len(data) - sum(map(len, payloads)) - len(payloads) * (len(form.token) + 1)
    if form is _NONE:
        return LineNumbers(b"", iter(()), 0)
    if form is not _MLLOG:
        if has_bare_cr(data):
            data = unify_line_ends(data)
            payloads = form.pattern.findall(data)
        from podium.logging_spec.reader.legacy import take_older

        take_older(payloads, form.generation, log, base)
        places = (match.start() for match in form.pattern.finditer(data))
        return LineNumbers(data, places, len(payloads))
    if b"\r" in data and has_bare_cr(b"\n".join([*payloads, b""])):
        # A bare CR ends the line; between two tokens of JSON it would pass for white space.
        data = unify_line_ends(data)
        payloads = form.pattern.findall(data)
    try:
        records = list(map(decode_brief if brief else decode, payloads))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        data = unify_line_ends(data)
        payloads = form.pattern.findall(data)
        if log.places is None:
            log.places = list(range(len(log.records)))
        _take_slowly(payloads, log, base)
    else:
        if log.places is not None:
            log.places.extend(range(base, base + len(records)))
        log.records += records
        if brief:
            log.written = payloads
    return LineNumbers(data, _first_on_their_lines(data, form.token), len(payloads))


def _first_on_their_lines(data: bytes, token: bytes) -> Iterator[int]:
    """Where a token stands first on a line that has it."""
    at = data.find(token)
    while at >= 0:
        yield at
        end = data.find(b"\n", at)
        at = data.find(token, end) if end >= 0 else -1


def _take_slowly(payloads: list[bytes], log: Log, base: int) -> None:
    assert log.places is not None
    for position, payload in enumerate(payloads, base):
        try:
            record = decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = _examine(payload, position, log)
            if found is None:
                continue
            record = found
        log.records.append(record)
        log.places.append(position)


def _examine(payload: bytes, position: int, log: Log) -> Record | None:
    """Judge a line the fast decoder refused, as the official reader does; faults go to the log."""
    if len(payload) > LONGEST_LINE:
        message = f"the line is longer than {LONGEST_LINE >> 20} MiB"
        log.faults.append(LineFault(Fault.LONG, message, position))
        return None
    *earlier, payload = payload.split(_MLLOG.token)
    if earlier:
        _take_glued(earlier, position, log)
    body = payload.strip(_BLANKS)
    try:
        found = json.loads(text_of(body))
    except (ValueError, RecursionError) as error:
        log.faults.append(_broken_json(body, error, position))
        return None
    return _record_of(found, body, position, log)


def _record_of(found: Any, body: bytes, position: int, log: Log) -> Record | None:
    excerpt = text_of(body[:80])

    def fault(kind: Fault, message: str, recovered: bool = False) -> None:
        log.faults.append(LineFault(kind, message, position, excerpt, recovered))

    if not isinstance(found, dict):
        # The official reader takes a bare null for a line it cannot parse.
        kind = Fault.JSON if found is None else Fault.OBJECT
        fault(kind, f"the record is a JSON {_json_type(found)}; must be an object")
        return None
    time_ms: Any = found.get("time_ms")
    try:
        time_ms = float(time_ms) if "time_ms" in found else 0.0
    except ValueError:
        fault(Fault.TIME, f'time_ms is "{time_ms!s:.60}"; must be a number of milliseconds')
        return None
    except (TypeError, OverflowError):
        what = f"a JSON {_json_type(time_ms)}" if not isinstance(time_ms, int) else "too large"
        fault(Fault.MISSING, f"time_ms is {what}; must be a number of milliseconds")
        return None
    absent = [name for name in ("time_ms", "key", "value", "metadata") if name not in found]
    if absent:
        lenient = _from_other_fields(found)
        if lenient is not None:
            log.lenient.append((position, lenient))
        fault(Fault.MISSING, f"the record lacks {', '.join(absent)}", lenient is not None)
        return None
    key = found["key"]
    if not isinstance(key, str):
        fault(Fault.KEY, f"key is a JSON {_json_type(key)}; must be a string")
        return None
    event_type, namespace = found.get("event_type"), found.get("namespace")
    return Record(key, time_ms, found["value"], found["metadata"], event_type, namespace)


def _from_other_fields(found: dict[str, Any]) -> Record | None:
    """A record of the 0.7 dialect that gives `time_s`, or one that lacks value or metadata."""
    key, time_ms = found.get("key"), found.get("time_ms")
    if time_ms is None and isinstance(found.get("time_s"), int | float):
        time_ms = found["time_s"] * 1000
    if not isinstance(key, str) or isinstance(time_ms, bool):
        return None
    if not isinstance(time_ms, int | float):
        return None
    return Record(key, time_ms, found.get("value"), found.get("metadata", {}))


def _take_glued(earlier: list[bytes], position: int, log: Log) -> None:
    message = "several records stand on this line; the official reader sees only the last"
    recovered = False
    for piece in earlier:
        with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            log.lenient.append((position, decode(piece.strip(_BLANKS))))
            recovered = True
    log.faults.append(LineFault(Fault.GLUED, message, position, recovered=recovered))


def _broken_json(body: bytes, error: Exception, position: int) -> LineFault:
    if isinstance(error, json.JSONDecodeError):
        where = f"{error.msg[:1].lower()}{error.msg[1:]} at character {error.pos + 1}"
    elif isinstance(error, RecursionError):
        where = "it is nested too deeply"
    else:
        where = str(error)
    message = f"the record is not valid JSON: {where}"
    if body.startswith(b"{") and not body.endswith(b"}"):
        message += " (the line seems cut short)"
    return LineFault(Fault.JSON, message, position, text_of(body[:80]))


def _json_type(value: object) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "list"}
    return "null" if value is None else names.get(type(value), "object")
