"""A benchmark's rules in one round, and how a later round changes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import msgspec
from msgspec.structs import replace

from podium.logging_spec.keys import Key
from podium.logging_spec.reader.record import Record
from podium.rules.derived_records import GATHERED
from podium.rules.table import Line, Row


class RoundError(ValueError):
    """A round that changes what is not there, or restates what already holds."""


def line_name(line: Line) -> str:
    """The key of a row, or the id of a rule about the end of the log."""
    return line.key.name if isinstance(line, Row) else line.id


class Change(msgspec.Struct, frozen=True):
    """How a table differs from the round before: rows changed, added and dropped."""

    change: tuple[Line, ...] = ()
    add: tuple[Line, ...] = ()
    drop: tuple[Key | str, ...] = ()

    def apply(self, table: tuple[Line, ...], where: str) -> tuple[Line, ...]:
        """The changed table; raises RoundError on a change that changes nothing."""
        lines = {line_name(line): line for line in table}
        for dropped in self.drop:
            name = dropped.name if isinstance(dropped, Key) else dropped
            if lines.pop(name, None) is None:
                raise RoundError(f"{where} drops {name}, which is not there")
        for line in self.change:
            name = line_name(line)
            if name not in lines:
                raise RoundError(f"{where} changes {name}, which is not there")
            if lines[name] == line:
                raise RoundError(f"{where} restates {name}")
            lines[name] = line
        for line in self.add:
            name = line_name(line)
            if name in lines:
                raise RoundError(f"{where} adds {name}, which is there")
            lines[name] = line
        return tuple(lines.values())


class Variant(msgspec.Struct, frozen=True):
    """Rows that hold where `chosen_by`, as logged, is `value`.

    With `lower`, the verifier goes by the lower-cased value, and by the name of any variant.
    `required`: a value that is no variant's leaves the verifier without rules.
    """

    name: str
    chosen_by: Key
    value: str
    rows: tuple[Line, ...]
    lower: bool = False
    required: bool = True

    def chosen_by_record(self, record: Record, lower: bool) -> bool:
        """Whether a record of an optimizer or scheduler key brings these rows in."""
        if lower:
            return isinstance(record.value, str) and record.value.lower() == self.name
        return self.chosen_by.name == record.key and bool(record.value == self.value)


class Benchmark(msgspec.Struct, frozen=True, dict=True):
    """One benchmark: what its closed and open division logs must hold.

    `runs` is the number of runs a result needs.
    `gathers` names the metadata member that tells checkpoints apart where a rule is about several
    metrics of one checkpoint.
    """

    name: str
    title: str
    runs: int
    closed: tuple[Line, ...]
    open: tuple[Line, ...] | None
    variants: tuple[Variant, ...] = ()
    init_minutes: float | None = None
    gathers: str = ""
    target: str = ""
    cites: str = "training rules, Hyperparameters and Optimizer"

    @cached_property
    def quality(self) -> Row | None:
        """The row of the closed table with the quality that one evaluation must reach."""
        for line in self.closed:
            if isinstance(line, Row) and line.some and line.key.name != GATHERED:
                return line.as_policy()
        return None


class Amend(msgspec.Struct, frozen=True):
    """How one benchmark differs from the round before."""

    closed: Change | None = None
    open: Change | None = None
    variants: Mapping[str, Change] = msgspec.field(default_factory=dict)
    rename: str = ""
    gathers: str = ""
    target: str = ""
    init_minutes: float | None = None
    why: str = ""

    def apply(self, benchmark: Benchmark, where: str) -> Benchmark:
        """The amended benchmark; raises RoundError on a change that changes nothing."""
        closed, opened, variants = benchmark.closed, benchmark.open, benchmark.variants
        if self.closed is not None:
            closed = self.closed.apply(closed, f"{where}, closed {benchmark.name}")
        if self.open is not None:
            opened = self.open.apply(opened or (), f"{where}, open {benchmark.name}")
        for name, change in self.variants.items():
            variants = _vary(variants, name, change, f"{where}, {benchmark.name} {name}")
        return replace(
            benchmark,
            name=self.rename or benchmark.name,
            closed=closed,
            open=opened,
            variants=variants,
            gathers=self.gathers or benchmark.gathers,
            target=self.target or benchmark.target,
            init_minutes=self.init_minutes or benchmark.init_minutes,
        )


def _vary(
    variants: tuple[Variant, ...], name: str, change: Change, where: str
) -> tuple[Variant, ...]:
    return tuple(
        replace(variant, rows=change.apply(variant.rows, where))
        if variant.name == name
        else variant
        for variant in variants
    )


def by_name(benchmarks: Iterable[Benchmark]) -> dict[str, Benchmark]:
    """Benchmarks keyed by the name that logs give in submission_benchmark."""
    return {benchmark.name: benchmark for benchmark in benchmarks}
