"""Constraints on the members of metadata, or of a value that is an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import Constraint, with_metadata
from podium.rules.constraints.formula import show_logged
from podium.rules.run import Run, metadata_of


class Has(Constraint, frozen=True):
    """The metadata has at least one of these members."""

    names: tuple[str, ...]

    def holds(self, record: Record, run: Run) -> bool:
        return any(map(record.metadata.__contains__, self.names))

    def broken(self, positions: list[int], run: Run) -> list[int]:
        # Rows of this kind have thousands of records: a comprehension avoids a call for each.
        records, failures = run.records, positions
        try:
            for name in self.names:
                failures = [i for i in failures if name not in records[i].metadata]
                if not failures:
                    break
        except TypeError:
            # The metadata of a record is not an object: tested one by one, only that record fails
            return Constraint.broken(self, positions, run)
        return failures

    def text(self) -> str:
        return "metadata with " + " or ".join(self.names)

    def actual(self, record: Record) -> Any:
        return sorted(metadata_of(record))

    def says(self, record: Record, run: Run | None) -> str:
        members = ", ".join(sorted(metadata_of(record))) or "nothing"
        return f"{record.key} has {members} in its metadata; must have {' or '.join(self.names)}"

    def advice(self, key: str, run: Run | None) -> str:
        return f"pass {' or '.join(self.names)} in the metadata of {key}"

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        examples = {"status": "success", "epoch_num": 1, "tensor": "w", "first_epoch_num": 1}
        for name in self.names:
            yield with_metadata(record, name, examples.get(name, 1024))
        metadata = {
            name: value for name, value in record.metadata.items() if name not in self.names
        }
        yield msgspec.structs.replace(record, metadata=metadata)


class part(Constraint, frozen=True):
    """A constraint on a part of the record: `metadata.NAME`, `value.NAME` or `len(value)`."""

    path: str
    inner: Constraint

    def pick(self, record: Record) -> Any:
        """The part; raises if it is missing."""
        if self.path == "len(value)":
            return len(record.value)
        field, _, name = self.path.partition(".")
        return (record.metadata if field == "metadata" else record.value)[name]

    def holds(self, record: Record, run: Run) -> bool:
        return self.inner.test(self.pick(record), run)

    def text(self) -> str:
        return f"{self.path} {self.inner.text()}"

    def expected(self, run: Run | None) -> str:
        return f"{self.path} {self.inner.expected(run)}"

    def actual(self, record: Record) -> Any:
        try:
            return self.pick(record)
        except (KeyError, TypeError, IndexError):
            return None

    def says(self, record: Record, run: Run | None) -> str:
        actual = show_logged(self.actual(record))
        return f"{self.path} of {record.key} is {actual}; must be {self.inner.expected(run)}"

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {key} with {self.path} {self.inner.expected(run)}"

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        for value in (*self.inner.candidates(run), *values):
            yield from self._with_part(record, value)

    def _with_part(self, record: Record, value: Any) -> Iterator[Record]:
        field, _, name = self.path.partition(".")
        if self.path == "len(value)":
            if isinstance(value, int) and 0 <= value < 10:
                yield msgspec.structs.replace(record, value=list(range(1, value + 1)))
        elif field == "metadata":
            yield with_metadata(record, name, value)
        else:
            members = record.value if isinstance(record.value, dict) else {}
            yield msgspec.structs.replace(record, value=members | {name: value})


class value_has(Constraint, frozen=True):
    """The value is an object with this member."""

    name: str

    def test(self, value: Any, run: Run) -> bool:
        return self.name in value

    def text(self) -> str:
        return f"a value with {self.name}"

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        members = record.value if isinstance(record.value, dict) else {}
        yield msgspec.structs.replace(record, value=members | {self.name: 0.5})
        others = {name: value for name, value in members.items() if name != self.name}
        yield msgspec.structs.replace(record, value=others)


class if_given(Constraint, frozen=True):
    """If the metadata has a member, another member must be present or its value must obey."""

    name: str
    then: Constraint

    def holds(self, record: Record, run: Run) -> bool:
        return self.name not in record.metadata or self.then.holds(record, run)

    def broken(self, positions: list[int], run: Run) -> list[int]:
        records, name = run.records, self.name
        try:
            indices = [i for i in positions if name in records[i].metadata]
        except TypeError:
            return Constraint.broken(self, positions, run)
        return self.then.broken(indices, run) if indices else indices

    def text(self) -> str:
        return f"{self.then.text()} (if {self.name} is given)"

    def expected(self, run: Run | None) -> str:
        return self.then.expected(run)

    def actual(self, record: Record) -> Any:
        return self.then.actual(record)

    def says(self, record: Record, run: Run | None) -> str:
        return self.then.says(record, run)

    def advice(self, key: str, run: Run | None) -> str:
        return self.then.advice(key, run)

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        variant = with_metadata(record, self.name, 1)
        yield variant
        yield from self.then.variations(variant, run, values)


def has(*names: str) -> Has:
    """The metadata has at least one of these members."""
    return Has(names)
