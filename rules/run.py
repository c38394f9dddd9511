"""The facts of one log that rules use: records by key, order, phases, times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.logging_spec.reader.record import Record

MINUTE_MS = 60_000.0

_NUMBERS = (int, float, str)


class NotLogged(LookupError):
    """A formula needs a key that the log does not have (yet)."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key} is not logged")
        self.key = key


class Run:
    """One run as logged.

    `position` is the index of the record under test. While `ordered` is set, a formula sees only
    the records before it, like the official verifier; otherwise the order is free. `exact` compares
    floats with `==`, like the verifier; otherwise within a relative 1e-9. `origin` maps a derived
    record to the logged record that it represents. `memo` keeps values of the whole run that
    several rules compute. `plain_json` is true if every line is JSON without NaN and Infinity.
    """

    __slots__ = (
        "exact",
        "line_of",
        "memo",
        "ordered",
        "origin",
        "plain_json",
        "position",
        "records",
        "where",
    )

    def __init__(
        self,
        records: list[Record],
        line_of: Callable[[int], int] = lambda index: index + 1,
    ) -> None:
        self.records = records
        self.line_of = line_of
        self.where: dict[str, list[int]] = {}
        for index, record in enumerate(records):
            self.where.setdefault(record.key, []).append(index)
        self.origin: dict[int, int] = {}
        self.memo: dict[object, Any] = {}
        self.plain_json = False
        self.position = 0
        self.ordered = True
        self.exact = True

    def of(self, key: str) -> list[Record]:
        """All records of a key, in file order."""
        return [self.records[index] for index in self.where.get(key, ())]

    def first(self, key: str) -> Record | None:
        """The first record of a key, or None."""
        indices = self.where.get(key)
        return self.records[indices[0]] if indices else None

    def last(self, key: str) -> Record | None:
        """The last record of a key, or None."""
        indices = self.where.get(key)
        return self.records[indices[-1]] if indices else None

    def value(self, key: str) -> Any:
        """The value of a key's first record, or None."""
        indices = self.where.get(key)
        return self.records[indices[0]].value if indices else None

    def before(self, key: str) -> Record | None:
        """The last record of a key before the current position."""
        for index in reversed(self.where.get(key, ())):
            if index < self.position:
                return self.records[index]
        return None

    def line(self, position: int) -> int:
        """The file line of the record at a position, or of the record that it represents."""
        return self.line_of(self.origin.get(position, position))

    def logged(self, key: str) -> Any:
        """The value that a formula uses for `key`; raises NotLogged if there is none."""
        record = self.before(key)
        # According to the policy lines may be in any order
        if record is None and not self.ordered:
            record = self.first(key)
        if record is None:
            raise NotLogged(key)
        return record.value

    def number(self, key: str) -> float | None:
        """The first value of the key if it is a finite number, or a string with one."""
        return as_number(self.value(key))

    def minutes(self) -> float | None:
        """Time to train: first run_start to the first run_stop after it, in minutes."""
        start = self.first("run_start")
        stop = self.first("run_stop")
        if start is None or stop is None:
            return None
        return (stop.time_ms - start.time_ms) / MINUTE_MS


def as_number(value: Any) -> float | None:
    """A finite number from a number or a string; None for anything else."""
    if type(value) is float:
        return value if value - value == 0 else None
    # True is an int in Python, but not a number in a log
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return None
    try:
        number = float(value)
    # JSON integers have no bound, floats have
    except (ValueError, OverflowError):
        return None
    # Neither NaN nor an infinity gives 0
    return number if number - number == 0 else None


def metadata_of(record: Record) -> dict[str, Any]:
    """The metadata of the record, or an empty mapping if it is not an object."""
    return record.metadata if isinstance(record.metadata, dict) else {}
