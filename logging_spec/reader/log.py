"""The content of one file: its records, its faults, and their places."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from podium.logging_spec.reader.line_numbers import LineNumbers
from podium.logging_spec.reader.record import Record

Generation = Literal["mllog", "mll", "mlpv", "alibaba", "none"]


class Fault(StrEnum):
    """The kinds of faults of a line or of the file."""

    JSON = "not-json"
    OBJECT = "not-an-object"
    MISSING = "missing-field"
    TIME = "bad-time"
    KEY = "bad-key"
    GLUED = "several-records"
    DIALECT = "nonstandard-dialect"
    IGNORED = "ignored-line"
    LONG = "line-too-long"
    DEEP = "too-deep"
    TRAILING = "text-after-record"
    QUOTED = "quoted-record"
    COLORED = "color-codes"
    UNMARKED = "missing-token"
    TRUNCATED = "truncated"
    MARKED_CUT = "cut-out"
    UNREADABLE = "unreadable-file"
    COMPRESSED = "broken-compression"


CRASHING = frozenset({Fault.OBJECT, Fault.MISSING})
"""Faults on which the official reader crashes instead of reaching a verdict."""


CUTS = frozenset({Fault.TRUNCATED, Fault.MARKED_CUT, Fault.COMPRESSED})
"""Faults that indicate missing lines."""


class LineFault(msgspec.Struct, frozen=True):
    """One fault: its kind, its message, and its place in the log.

    `position` counts lines with a token from 0 (-1: the whole file, or the line of the file in
    `line`). `recovered`: whether the tolerant reader made records of the line anyway; `key`: the
    key in the line, if legible; `cut`: the line seems truncated.
    """

    kind: Fault
    message: str
    position: int
    excerpt: str = ""
    recovered: bool = False
    key: str = ""
    line: int | None = None
    cut: bool = False

    @property
    def is_stray(self) -> bool:
        """Whether its line has no token, so that no reader makes a record of it."""
        return self.line is not None


decode = msgspec.json.Decoder(Record).decode
"""One record of 0.7 and later from the text after its token; raises the errors of msgspec."""

RECORD = b":::MLL"
"""The tokens before records of 0.6 and later."""

HEAD = 1 << 16
"""Number of bytes of a large file that are kept unchanged."""


class Log(msgspec.Struct):
    """The content of one file.

    `records` are the records of the official reader, in file order. `lenient` adds the records that
    only a tolerant reader gets: (position of the line, record). `places` has the line position of
    each record, and `lines` the file line (from 1) of each such position. `timeless` are records,
    as in `lenient`, without a time: it is NaN. `data` is the unchanged file; of a file too large to
    read at once it is the start, of a compressed file it is empty. `ends_in_record`: the last line
    that is not blank has a token. `line_count` is the number of lines in the file, with or without
    a token; 0 if the records do not come from a file. `compressed`: the file is, whatever its name.
    """

    generation: Generation = "none"
    records: list[Record] = msgspec.field(default_factory=list)
    faults: list[LineFault] = msgspec.field(default_factory=list)
    lenient: list[tuple[int, Record]] = msgspec.field(default_factory=list)
    timeless: list[tuple[int, Record]] = msgspec.field(default_factory=list)
    places: list[int] | None = None
    size: int = 0
    data: bytes = b""
    lines: Sequence[int] | LineNumbers = msgspec.field(default_factory=list)
    ends_in_record: bool = False
    line_count: int = 0
    compressed: bool = False

    @property
    def head(self) -> memoryview:
        """The start of the file."""
        return memoryview(self.data)[:HEAD]

    def line(self, index: int) -> int:
        """File line (from 1; LF, CRLF and a bare CR end one) of the record at `index`."""
        return self.line_at(index if self.places is None else self.places[index])

    def line_at(self, position: int) -> int:
        """File line (from 1) of the token-bearing line at `position`."""
        return self.lines[position]

    def line_of(self, fault: LineFault) -> int | None:
        """File line of a fault; None for a fault of the whole file."""
        return fault.line if fault.position < 0 else self.line_at(fault.position)

    def placed_records(self) -> list[tuple[int, Record]]:
        """Every record with the position of its line, including leniently read ones."""
        positions = range(len(self.records)) if self.places is None else self.places
        # Of several records in one line, the official reader reads the last
        merged = [*self.lenient, *zip(positions, self.records, strict=True)]
        if self.lenient:
            merged.sort(key=lambda pair: pair[0])
        return merged

    def all_records(self) -> list[tuple[int, Record]]:
        """Every record with its file line, including leniently read ones."""
        lines = [*self.lines]
        return [(lines[position], record) for position, record in self.placed_records()]


def text_of(data: bytes) -> str:
    """Text of bytes: UTF-8, or latin-1 if they are not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        # The encoding of the official reader, which accepts every byte
        return data.decode("latin-1")
