"""What reading one file gives: its records, its faults, and their places."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Literal, cast

import msgspec

from podium.logging_spec.reader.line_numbers import LineNumbers
from podium.logging_spec.reader.record import BriefRecord, Record

Generation = Literal["mllog", "mll", "mlpv", "alibaba", "none"]


class Fault(StrEnum):
    """What can be wrong with one line, or with the file."""

    JSON = "not-json"
    OBJECT = "not-an-object"
    MISSING = "missing-field"
    TIME = "bad-time"
    KEY = "bad-key"
    GLUED = "several-records"
    DIALECT = "nonstandard-dialect"
    IGNORED = "ignored-line"
    LONG = "line-too-long"
    UNREADABLE = "unreadable-file"
    COMPRESSED = "broken-compression"


CRASHING = frozenset({Fault.OBJECT, Fault.MISSING})
"""Faults on which the official reader ends in a traceback instead of a verdict."""


class LineFault(msgspec.Struct, frozen=True):
    """One fault: its kind, a sentence about it, and where in the log it is.

    `position` counts token-bearing lines from 0 (-1: the file as a whole). `recovered` tells
    whether the tolerant reading made records of the line all the same.
    """

    kind: Fault
    message: str
    position: int
    excerpt: str = ""
    recovered: bool = False


decode = msgspec.json.Decoder(Record).decode
"""One record of 0.7 and later from what follows its token; raises what msgspec does."""

decode_brief = cast("Callable[[bytes], Record]", msgspec.json.Decoder(BriefRecord).decode)

RECORD = b":::MLL"
"""How the records of 0.6 and later begin on their lines."""

HEAD = 1 << 16
"""Bytes of a large file that are kept as they are."""


class Log(msgspec.Struct):
    """What one file holds.

    `records` are those the official reader takes, in file order. `lenient` adds what only a
    tolerant reader gets: (position of the line, record). `places` gives the line position of each
    record, and `lines` the file line (from 1) of each such position.
    `data` is the file as it is, of one too large to be read at once how it begins, of a compressed
    one nothing; `noise` is about how many bytes of a file are no records. Where `written` is
    given, records are brief ones, and it has what was written of each after its token.
    """

    generation: Generation = "none"
    records: list[Record] = msgspec.field(default_factory=list)
    faults: list[LineFault] = msgspec.field(default_factory=list)
    lenient: list[tuple[int, Record]] = msgspec.field(default_factory=list)
    places: list[int] | None = None
    size: int = 0
    data: bytes = b""
    noise: int = 0
    lines: Sequence[int] | LineNumbers = msgspec.field(default_factory=list)
    written: list[bytes] | None = None

    @property
    def head(self) -> memoryview:
        """How the file begins."""
        return memoryview(self.data)[:HEAD]

    @property
    def whole(self) -> bytes | None:
        """All that the file holds, where it was read at once."""
        return self.data if self.data and len(self.data) == self.size else None

    def line(self, index: int) -> int:
        """File line (from 1; LF, CRLF and a bare CR end one) of the record at `index`."""
        return self.line_at(index if self.places is None else self.places[index])

    def entire(self, index: int) -> Record:
        """The record at `index` with all of its metadata."""
        return self.records[index] if self.written is None else _entire(self.written[index])

    def line_at(self, position: int) -> int:
        """File line (from 1) of the token-bearing line at `position`."""
        return self.lines[position]

    def placed_records(self) -> list[tuple[int, Record]]:
        """Every record with the position of its line, the leniently read ones in their places."""
        places = range(len(self.records)) if self.places is None else self.places
        merged = [*zip(places, self.records, strict=True), *self.lenient]
        if self.lenient:
            merged.sort(key=lambda pair: pair[0])
        return merged

    def all_records(self) -> list[tuple[int, Record]]:
        """Every record with its file line, the leniently read ones in their places."""
        return [(self.line_at(place), record) for place, record in self.placed_records()]


def _entire(payload: bytes) -> Record:
    """A record that was read in brief: what was passed over need not be UTF-8."""
    try:
        return decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = json.loads(text_of(payload))
        said = (found.get(name) for name in ("value", "metadata", "event_type", "namespace"))
        return Record(found["key"], float(found["time_ms"]), *said)


def text_of(data: bytes) -> str:
    """Text of bytes: UTF-8, or latin-1 where it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
