"""The base of all constraints: they decide, print themselves, explain findings and give examples.

A constraint decides (`holds`), prints as the policy's tables do (`text`), and explains findings
(`expected`, `says`, `advice`). `holds` may raise on a value of the wrong type; the engine counts an
exception as a violation, like the official verifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.formula import Formula, show_logged
from podium.rules.run import NotLogged, Run


class Constraint(msgspec.Struct, frozen=True):
    """Base of all constraints; by default it tests the value of a record."""

    looks_up: ClassVar[tuple[str, ...]] = ()
    """Keys that the constraint looks up in the run, in addition to the keys of its formulas."""

    first_only: ClassVar[bool] = False
    """Whether the constraint applies only to the first record of a key."""

    def test(self, value: Any, run: Run) -> bool:
        """Whether a value obeys; may raise on a value of the wrong type."""
        raise NotImplementedError

    def holds(self, record: Record, run: Run) -> bool:
        """Whether the record obeys; may raise on a value of the wrong type."""
        return self.test(record.value, run)

    @property
    def awaits_end(self) -> bool:
        """Whether later records may make a record obey that breaks the constraint now."""
        return False

    @property
    def is_constant(self) -> bool:
        """Whether it depends on the value alone: not on other keys or how floats compare."""
        return False

    def broken(self, positions: list[int], run: Run) -> list[int]:
        """The positions of the records that do not obey, or that cannot be tested."""
        failures = []
        records, holds = run.records, self.holds
        for index in positions:
            run.position = index
            try:
                obeys = holds(records[index], run)
            except Exception:
                # The official verifier counts an exception in a check as a violation
                obeys = False
            if not obeys:
                failures.append(index)
        return failures

    # --- in words ---

    def text(self) -> str:
        """The text of its cell in a rule table."""
        raise NotImplementedError

    def expected(self, run: Run | None) -> str:
        """The expected value in findings, with formulas computed for this run."""
        return self.text()

    def actual(self, record: Record) -> Any:
        """The actual value in findings."""
        return record.value

    def says(self, record: Record, run: Run | None) -> str:
        """The message of a finding."""
        return f"{record.key} is {show_logged(self.actual(record))}; must be {self.expected(run)}"

    def advice(self, key: str, run: Run | None) -> str:
        """The help of a finding."""
        return f"log {key} as {self.expected(run)}"

    # --- components ---

    def parts(self) -> Iterator[Any]:
        """The numbers, strings, formulas and constraints that it consists of, tuples flattened."""
        for name in self.__struct_fields__:
            yield from _flat(getattr(self, name))

    def needs(self) -> tuple[str, ...]:
        """The keys that it looks up; its verdict is not final until they are logged."""
        keys = [*self.looks_up]
        for part in self.parts():
            if isinstance(part, Formula):
                keys += part.needs
            elif isinstance(part, Constraint):
                keys += part.needs()
        return tuple(dict.fromkeys(keys))

    # --- values ---

    def only_value(self, run: Run) -> Any:
        """The only value that it allows, None if there are several; raises like formulas."""
        return None

    def candidates(self, run: Run) -> Iterator[Any]:
        """Valid and invalid values near its bounds; raises NotLogged if a formula lacks a key."""
        for part in self.parts():
            if isinstance(part, Constraint):
                yield from part.candidates(run)
            elif isinstance(part, Formula):
                yield from near(computed(part, run))
            else:
                yield from near(part)

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        """Variants of a record that may have another verdict; `values` are tried as well."""
        for value in (*self.candidates(run), *values):
            yield msgspec.structs.replace(record, value=value)
        if type(self).holds is not Constraint.holds:
            yield from self._elsewhere(record, run)

    def _elsewhere(self, record: Record, run: Run) -> Iterator[Record]:
        """Variants with other names and times, for constraints that read more than the value."""
        for value in self.candidates(run):
            if isinstance(value, str):
                yield msgspec.structs.replace(record, namespace=value)
        yield msgspec.structs.replace(record, time_ms=record.time_ms - 60_000)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def needs_of(constraints: Iterable[Constraint]) -> frozenset[str]:
    """The keys that any of the constraints looks up."""
    return frozenset(key for constraint in constraints for key in constraint.needs())


def near(value: Any) -> Iterator[Any]:
    """The value itself first, then values on both sides of it."""
    # Before int, because bool is a subclass of int
    if isinstance(value, bool):
        yield from (value, not value)
    elif isinstance(value, int):
        half = [value // 2] if value % 2 == 0 and value else []
        yield from (value, *half, value + 1, value - 1, value * 2)
    elif isinstance(value, float):
        yield from (value, value / 2, value * 2, value + 1, value - 1, value * 1.5, value * 3)
    elif isinstance(value, str):
        yield from (value, "other")


def computed(formula: Formula, run: Run) -> Any:
    """The value of a formula, None if it has none; raises NotLogged for a missing key."""
    try:
        return formula.compute(run)
    except NotLogged:
        raise
    except Exception:
        return None


def with_metadata(record: Record, name: str, value: Any) -> Record:
    """The record with one more member in its metadata."""
    return msgspec.structs.replace(record, metadata=record.metadata | {name: value})
