"""What reading one file gives: its records, its faults, and their places."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from podium.logging_spec.reader.line_numbers import LineNumbers
from podium.logging_spec.reader.record import Record

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
"""Faults that tell of lines that are missing altogether."""


class LineFault(msgspec.Struct, frozen=True):
    """One fault: its kind, a sentence about it, and where in the log it is.

    `position` counts token-bearing lines from 0 (-1: the file as a whole, or the line of the file
    that `line` gives). `recovered`: whether the tolerant reading made records of the line all
    the same, `key` which key the line names, as far as it is legible; `cut`: the line seems cut.
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
        """Whether it is of a line that bears no token, which no reader takes for a record."""
        return self.line is not None


decode = msgspec.json.Decoder(Record).decode
"""One record of 0.7 and later from what follows its token; raises what msgspec does."""

RECORD = b":::MLL"
"""How the records of 0.6 and later begin on their lines."""

HEAD = 1 << 16
"""Bytes of a large file that are kept as they are."""


class Log(msgspec.Struct):
    """What one file holds.

    `records` are those the official reader takes, in file order. `lenient` adds what only a
    tolerant reader gets: (position of the line, record). `places` gives the line position of each
    record, and `lines` the file line (from 1) of each such position. `timeless` are records, as in
    `lenient`, that lack a time: theirs is not a number.
    `data` is the file as it is, of one too large to be read at once how it begins, of a compressed
    one nothing. `ends_in_record`: the last line that is not blank bears a token. `line_count` are
    the lines of the file, with or without a token; 0 where the records come from no file.
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

    @property
    def head(self) -> memoryview:
        """How the file begins."""
        return memoryview(self.data)[:HEAD]

    def line(self, index: int) -> int:
        """File line (from 1; LF, CRLF and a bare CR end one) of the record at `index`."""
        return self.line_at(index if self.places is None else self.places[index])

    def line_at(self, position: int) -> int:
        """File line (from 1) of the token-bearing line at `position`."""
        return self.lines[position]

    def line_of(self, fault: LineFault) -> int | None:
        """File line of a fault; None where it is the whole file's."""
        return fault.line if fault.position < 0 else self.line_at(fault.position)

    def placed_records(self) -> list[tuple[int, Record]]:
        """Every record with the position of its line, the leniently read ones in their places."""
        places = range(len(self.records)) if self.places is None else self.places
        merged = [*zip(places, self.records, strict=True), *self.lenient]
        if self.lenient:
            merged.sort(key=lambda pair: pair[0])
        return merged

    def all_records(self) -> list[tuple[int, Record]]:
        """Every record with its file line, the leniently read ones in their places."""
        lines = [*self.lines]
        return [(lines[place], record) for place, record in self.placed_records()]


def text_of(data: bytes) -> str:
    """Text of bytes: UTF-8, or latin-1 where it is not."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        # The official reader's encoding, which fails for no byte
        return data.decode("latin-1")
