"""Valid logs, built in memory from the rule tables, for tests to break in one way.

    good = build("training", "5.1", "closed", "llama31_8b")
    good.set("opt_adamw_beta_2", 0.9).bytes()

Every method returns a new log. A method that finds nothing to change raises, so no test is empty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from podium.compliance.judging.logs.judge import LogVerdict, judge_log
from podium.compliance.rulebook.tables.fitting_values import all_of, good_value, good_values
from podium.compliance.rulebook.tables.log_kinds import LogKind, cases, effective, scopes
from podium.compliance.rulebook.tables.whole_log import (
    PHASES,
    START_MS,
    STEP_MS,
    good_records,
    line_of,
    record_of,
)
from podium.logging_spec import keys as k
from podium.logging_spec.reader.read import parse_log
from podium.logging_spec.reader.record import Record
from podium.rules.finding import Profile

if TYPE_CHECKING:
    import random
    from pathlib import Path

__all__ = [
    "PHASES",
    "SAME",
    "START_MS",
    "STEP_MS",
    "Line",
    "LogBuilder",
    "LogKind",
    "all_of",
    "build",
    "build_log",
    "cases",
    "effective",
    "good_value",
    "good_values",
    "scopes",
]

Data = bytes  # an alias, because `LogBuilder` has a method `bytes`

SAME: Any = object()
"""Keeps the value unchanged."""


# --- the log ---


@dataclass(frozen=True)
class Line:
    """A record with its format, or another line of the file."""

    record: Record | None
    generation: str
    benchmark: str = ""
    text: bytes = b""

    @cached_property
    def bytes(self) -> bytes:
        """The line without its line end."""
        record = self.record
        if record is None:
            return self.text
        return line_of(record, self.generation, self.benchmark)


@dataclass(frozen=True)
class LogBuilder:
    """The lines of a log."""

    which: LogKind
    lines: tuple[Line, ...] = field(repr=False)

    # --- reading ---

    def bytes(self) -> bytes:
        """The bytes of the file, with a final framework line if the round requires these."""
        end = b"done\n" if self.which.rules.package.framework_logs else b""
        return b"".join(line.bytes + b"\n" for line in self.lines) + end

    def write(self, path: Path) -> Path:
        """Write the file and the folders above it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.bytes())
        return path

    def judge(self, profile: Profile = Profile.VERIFIER) -> LogVerdict:
        """Judge the log by the rules of its round."""
        return judge_log(parse_log(self.bytes()), self.which.rules, profile, "result_0.txt")

    def where(self, key: str) -> list[int]:
        """The positions of a key's records."""
        found = [
            place for place, line in enumerate(self.lines) if line.record and line.record.key == key
        ]
        if not found:
            raise LookupError(f"{self.which} does not log {key}")
        return found

    def line_of(self, key: str) -> int:
        """The line number of a key's first record."""
        return self.where(key)[0] + 1

    def names(self) -> list[str]:
        """All keys without duplicates, in the order of the log."""
        return list(dict.fromkeys(line.record.key for line in self.lines if line.record))

    def first(self, key: str) -> Record:
        """A key's first record."""
        record = self.lines[self.where(key)[0]].record
        assert record is not None
        return record

    # --- breaking ---

    def change(self, key: str, how: Callable[[Record], Record], only: int | None = None) -> Self:
        """Change every record of a key, or only the record at this index among them."""
        places = self.where(key)
        lines = list(self.lines)
        for place in places if only is None else [places[only]]:
            record = lines[place].record
            assert record is not None
            lines[place] = replace(lines[place], record=how(record))
        return replace(self, lines=tuple(lines))

    def set(self, key: str, value: Any, only: int | None = None) -> Self:
        """Set the value of every record of a key."""
        return self.change(key, lambda r: msgspec.structs.replace(r, value=value), only)

    def meta(self, key: str, *without: str, only: int | None = None, **members: Any) -> Self:
        """Add members to the metadata of a key's records, and remove others."""

        def change(record: Record) -> Record:
            kept = {name: v for name, v in record.metadata.items() if name not in without}
            return msgspec.structs.replace(record, metadata=kept | members)

        return self.change(key, change, only)

    def shift(self, key: str, minutes: float, only: int | None = None) -> Self:
        """Shift the times of a key's records."""
        delta = minutes * 60_000
        return self.change(
            key, lambda r: msgspec.structs.replace(r, time_ms=int(r.time_ms + delta)), only
        )

    def shift_all(self, minutes: float) -> Self:
        """Shift the times of all records."""
        log = self
        for key in self.names():
            log = log.shift(key, minutes)
        return log

    def lasting(self, minutes: float) -> Self:
        """Make the run stop a number of minutes after its start."""
        start, stop = self.first("run_start").time_ms, self.first("run_stop").time_ms
        return self.shift("run_stop", minutes - (stop - start) / 60_000)

    def drop(self, *keys: str, only: int | None = None) -> Self:
        """Remove every record of some keys."""
        gone = {place for key in keys for place in self.where(key)}
        if only is not None:
            gone = {self.where(keys[0])[only]}
        kept = tuple(line for place, line in enumerate(self.lines) if place not in gone)
        return replace(self, lines=kept)

    def repeat(self, key: str, value: Any = SAME) -> Self:
        """Repeat a key's first record after itself, optionally with another value."""
        place = self.where(key)[0]
        record = self.first(key)
        if value is not SAME:
            record = msgspec.structs.replace(record, value=value)
        return self._insert(place + 1, replace(self.lines[place], record=record))

    def move(self, key: str, *, before: str = "", after: str = "") -> Self:
        """Move a key's records before the first, or after the last, record of another key."""
        places = self.where(key)
        moved = [self.lines[place] for place in places]
        rest = self.drop(key)
        at = rest.where(before)[0] if before else rest.where(after)[-1] + 1
        return replace(self, lines=(*rest.lines[:at], *moved, *rest.lines[at:]))

    def add(
        self, key: str, value: Any, metadata: dict[str, Any] | None = None, *, before: str
    ) -> Self:
        """Add a record before the first record of another key."""
        place = self.where(before)[0]
        there = self.lines[place].record
        assert there is not None
        record = record_of(key, value, metadata or {}, int(there.time_ms))
        return self._insert(place, replace(self.lines[place], record=record))

    def noise(self, place: int, text: Data) -> Self:
        """Insert a line that is not a record."""
        return self._insert(place, Line(None, "", text=text))

    def shuffled(self, rng: random.Random) -> Self:
        """Shuffle the hyperparameter lines among their positions."""
        places = [
            place
            for place, line in enumerate(self.lines)
            if line.record is not None and _is_hyperparameter(line.record.key)
        ]
        mixed = rng.sample(places, len(places))
        lines = list(self.lines)
        for place, source in zip(places, mixed, strict=True):
            lines[place] = self.lines[source]
        return replace(self, lines=tuple(lines))

    def _insert(self, place: int, line: Line) -> Self:
        return replace(self, lines=(*self.lines[:place], line, *self.lines[place:]))


Self = LogBuilder


def _is_hyperparameter(name: str) -> bool:
    key = k.known(name)
    return key is not None and key.role in ("hyperparameter", "disclosure")


def build(
    usage: str,
    round_: str,
    division: str,
    benchmark: str,
    choices: tuple[tuple[str, str], ...] = (),
) -> LogBuilder:
    """A log that obeys every rule of its round."""
    return build_log(LogKind(usage, round_, division, benchmark, choices))


@cache
def build_log(which: LogKind) -> LogBuilder:
    """A log that obeys every rule of its round."""
    generation, benchmark = which.rules.generation, which.benchmark
    return LogBuilder(
        which, tuple(Line(record, generation, benchmark) for record in good_records(which))
    )
