"""Constraints on the order and the time of records: before, after, within a limit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import Constraint
from podium.rules.run import Run


class after(Constraint, frozen=True):
    """Another key was logged before the record."""

    key: str

    def holds(self, record: Record, run: Run) -> bool:
        indices = run.where.get(self.key)
        return indices is not None and indices[0] < run.position

    def broken(self, positions: list[int], run: Run) -> list[int]:
        indices = run.where.get(self.key)
        # Positions ascend, so one cut separates the records that obey from the others
        return positions if indices is None else positions[: bisect_left(positions, indices[0])]

    def text(self) -> str:
        return f"after {self.key}"

    def says(self, record: Record, run: Run | None) -> str:
        return f"{record.key} is logged before any {self.key}; must be logged after it"

    def actual(self, record: Record) -> Any:
        return None

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {self.key} before {key}"


class before(Constraint, frozen=True):
    """Another key has not been logged yet."""

    key: str

    def holds(self, record: Record, run: Run) -> bool:
        indices = run.where.get(self.key)
        return indices is None or indices[0] > run.position

    def broken(self, positions: list[int], run: Run) -> list[int]:
        indices = run.where.get(self.key)
        return [] if indices is None else positions[bisect_right(positions, indices[0]) :]

    def text(self) -> str:
        return f"before {self.key}"

    def says(self, record: Record, run: Run | None) -> str:
        return f"{record.key} is logged after {self.key}; must be logged before it"

    def actual(self, record: Record) -> Any:
        return None

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {key} before {self.key}"


class init_within(Constraint, frozen=True):
    """Fewer minutes have passed since the first init_start than the division allows."""

    looks_up: ClassVar[tuple[str, ...]] = ("submission_division",)

    closed: float
    open: float | None = None

    def limit(self, run: Run) -> float:
        """The allowed minutes; none if the division is not known yet and the limits differ."""
        if self.open is None:
            return self.closed
        indices = run.where.get("submission_division")
        if indices is None or (run.ordered and indices[0] > run.position):
            return 0.0
        division = run.records[indices[0]].value
        # No duration is below 0: the verifier has no limit for an unknown division
        return self.open if division == "open" else self.closed if division == "closed" else 0.0

    def start(self, run: Run) -> float:
        """The earliest time of any init_start so far: ranks log them in any order."""
        # Without an init_start any time is within the limit: `after` in the row reports that
        earliest = 9e99
        for index in run.where["init_start"]:
            time_ms = run.records[index].time_ms
            if index < run.position and time_ms < earliest:
                earliest = time_ms
        return earliest

    def holds(self, record: Record, run: Run) -> bool:
        # Strictly less, as in the official verifier: a time equal to the limit fails
        return record.time_ms - self.start(run) < self.limit(run) * 60_000

    def text(self) -> str:
        if self.open is None:
            return f"less than {self.closed:g} minutes after the first init_start"
        return (
            f"less than {self.closed:g} minutes (closed) or {self.open:g} minutes (open) after the "
            "first init_start"
        )

    def actual(self, record: Record) -> Any:
        return None

    def says(self, record: Record, run: Run | None) -> str:
        if run is None or "init_start" not in run.where:
            return "initialization has no init_start"
        minutes = (record.time_ms - self.start(run)) / 60_000
        limit = self.limit(run)
        if not limit:
            return (
                f"initialization took {minutes:.1f} min, and the limit is unknown: no valid "
                "submission_division precedes init_stop"
            )
        return f"initialization took {minutes:.2f} min; must be less than {limit:g} min"

    def advice(self, key: str, run: Run | None) -> str:
        return "shorten compilation and staging, or do them after run_start"

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        for minutes in (1.0, self.closed + 1, (self.open or 0) + self.closed):
            yield msgspec.structs.replace(record, time_ms=record.time_ms + minutes * 60_000)
