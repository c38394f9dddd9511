"""What every constraint can do: decide, print itself, explain a finding, and name its examples.

A constraint decides (`holds`), prints as the policy's tables do (`text`), and explains itself for a
finding (`expected`, `says`, `advice`). `holds` may raise on a value of the wrong type; the engine
counts that as a violation, as the official verifier does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.formula import Formula, show_logged
from podium.rules.run import NotLogged, Run


class Constraint(msgspec.Struct, frozen=True):
    """Base of all constraints: by default a rule about the record's value."""

    looks_up: ClassVar[tuple[str, ...]] = ()
    """Keys that its own code looks up in the run, beside those of its formulas."""

    first_only: ClassVar[bool] = False
    """Whether it is about the first record of a key alone."""

    def test(self, value: Any, run: Run) -> bool:
        """Whether a value obeys; may raise on one of the wrong type."""
        raise NotImplementedError

    def holds(self, record: Record, run: Run) -> bool:
        """Whether the record obeys; may raise on a value of the wrong type."""
        return self.test(record.value, run)

    @property
    def awaits_end(self) -> bool:
        """Whether a record that breaks it may yet obey, once later records are there."""
        return False

    @property
    def is_constant(self) -> bool:
        """Whether it looks at the value alone: at no other key, and not at how floats compare."""
        return False

    def broken(self, positions: list[int], run: Run) -> list[int]:
        """The positions of the records that do not obey, or that cannot be tested."""
        failed = []
        records, holds = run.records, self.holds
        for index in positions:
            run.position = index
            try:
                obeys = holds(records[index], run)
            except Exception:
                # The official verifier counts an exception inside a check as a violation
                obeys = False
            if not obeys:
                failed.append(index)
        return failed

    # --- in words ---

    def text(self) -> str:
        """The cell of a rule table."""
        raise NotImplementedError

    def expected(self, run: Run | None) -> str:
        """What a finding says must be, formulas worked out for this run."""
        return self.text()

    def actual(self, record: Record) -> Any:
        """What a finding says is."""
        return record.value

    def says(self, record: Record, run: Run | None) -> str:
        """The finding's sentence."""
        return f"{record.key} is {show_logged(self.actual(record))}; must be {self.expected(run)}"

    def advice(self, key: str, run: Run | None) -> str:
        """How to fix it."""
        return f"log {key} as {self.expected(run)}"

    # --- what it is made of ---

    def parts(self) -> Iterator[Any]:
        """The numbers, texts, formulas and constraints that it is made of, out of their tuples."""
        for name in self.__struct_fields__:
            yield from _flat(getattr(self, name))

    def needs(self) -> tuple[str, ...]:
        """The keys that it looks up: until they are logged its verdict on a record is not final."""
        found = [*self.looks_up]
        for part in self.parts():
            if isinstance(part, Formula):
                found += part.needs
            elif isinstance(part, Constraint):
                found += part.needs()
        return tuple(dict.fromkeys(found))

    # --- values ---

    def only_value(self, run: Run) -> Any:
        """The one value that it allows, None where there are several; raises as formulas do."""
        return None

    def candidates(self, run: Run) -> Iterator[Any]:
        """Values near its bounds, good and bad; raises NotLogged where a formula lacks a key."""
        for part in self.parts():
            if isinstance(part, Constraint):
                yield from part.candidates(run)
            elif isinstance(part, Formula):
                yield from near(computed(part, run))
            else:
                yield from near(part)

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        """Records like the given one that it may judge otherwise; `values` are tried as well."""
        for value in (*self.candidates(run), *values):
            yield msgspec.structs.replace(record, value=value)
        if type(self).holds is not Constraint.holds:
            yield from self._elsewhere(record, run)

    def _elsewhere(self, record: Record, run: Run) -> Iterator[Record]:
        """Other names and times, for a constraint that may look at more than the value."""
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
    return frozenset(key for each in constraints for key in each.needs())


def near(value: Any) -> Iterator[Any]:
    """The value itself first, then others to either side of it."""
    # Before int, of which bool is a subclass
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
    """What a formula gives, None where it has no value; raises NotLogged for a missing key."""
    try:
        return formula.compute(run)
    except NotLogged:
        raise
    except Exception:
        return None


def with_metadata(record: Record, name: str, value: Any) -> Record:
    """The record with one more member in its metadata."""
    return msgspec.structs.replace(record, metadata=record.metadata | {name: value})
