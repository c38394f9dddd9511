"""What several checks read of a run: its evaluations, where training stood, and the target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from logging_spec.record import Record
from rules.checks import Context
from rules.constraints import show
from rules.run import Run, as_number, metadata_of
from rules.schedule import Schedule
from rules.table import Row
from rules.virtual import GATHERED

POSITIONS = ("samples_count", "epoch_num", "step_num")
"""Metadata members that say how far training is, the most telling first."""

EXACT = 1 << 53
"""Integers from here on need not have a number they are equal to."""

TRAINING = "training rules, "
"""Begins the citation of a section of the training rules."""


def evaluations(run: Run) -> list[int]:
    """Indices of the records that hold the outcome of an evaluation, in file order."""
    return run.where.get("eval_error") or run.where.get("eval_accuracy") or []


def outcome_key(run: Run) -> str:
    """The key that this run logs its quality under."""
    return "eval_error" if "eval_error" in run.where else "eval_accuracy"


def position(record: Record, names: Iterable[str] = POSITIONS) -> tuple[str, float] | None:
    """(metadata member, number) of the first of these members that the record gives."""
    metadata = metadata_of(record)
    for name in names:
        number = as_number(metadata.get(name))
        if number is not None:
            return name, number
    return None


def where_is(at: tuple[str, float] | None) -> str:
    """A position as messages give it."""
    return "an earlier evaluation" if at is None else f"{at[0]} {show(at[1])}"


@dataclass(frozen=True, slots=True)
class Marks:
    """Where records of one key say training stood: (index, position) in file order.

    `unit` is the metadata member that counts; records without it are left out.
    """

    unit: str
    marks: list[tuple[int, float]]

    def first_at(self) -> dict[float, int]:
        """The first record of each position."""
        places: dict[float, int] = {}
        for index, value in self.marks:
            places.setdefault(value, index)
        return places


def marks_of(run: Run, key: str, names: Iterable[str] = POSITIONS) -> Marks | None:
    """The positions that records of a key give, by the member that the first one has."""
    found = run.where.get(key)
    if not found:
        return None
    records = run.records
    at = position(records[found[0]], names)
    if at is None:
        return None
    name, marks = at[0], []
    for index in found:
        metadata = records[index].metadata
        value = metadata.get(name) if type(metadata) is dict else None
        if type(value) is not int or not -EXACT < value < EXACT:
            value = as_number(value)
            if value is None:
                continue
        marks.append((index, value))
    return Marks(name, marks)


def schedule_of(context: Context) -> Schedule | None:
    """The schedule of the benchmark in this round, where the policy has one."""
    if context.benchmark is None:
        return None
    return context.limits.evaluates.get(context.benchmark.name)


def is_offline(context: Context) -> bool:
    """Whether checkpoints may be evaluated after the run, on no clock."""
    schedule = schedule_of(context)
    return schedule is not None and schedule.offline


def target_of(context: Context) -> Row | None:
    """The row of the closed table that says what quality an evaluation must reach."""
    if context.benchmark is None or context.division != "closed":
        return None
    for line in context.benchmark.closed:
        if isinstance(line, Row) and line.some and line.key.name != GATHERED:
            return line.as_policy()
    return None


def reaches(run: Run, target: Row, index: int) -> bool:
    """Whether a record reaches the target; a value of the wrong type reaches nothing."""
    record = run.records[index]
    run.position = index
    try:
        for constraint in target.some:
            if not constraint.holds(record, run):
                return False
    except Exception:
        return False
    return True


def first_passing(run: Run, target: Row, places: Iterable[int]) -> int | None:
    """The first of the records that reaches the target."""
    for index in places:
        if reaches(run, target, index):
            return index
    return None


def times(run: Run, key: str) -> list[float]:
    """When the records of a key were written, in file order."""
    records = run.records
    return [records[index].time_ms for index in run.where.get(key, ())]


def minutes(milliseconds: float) -> str:
    """A duration as messages give it."""
    if abs(milliseconds) < 60_000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds / 60_000:.4g} min"


def status_of(run: Run) -> tuple[int, Any] | None:
    """(index, status) of the first run_stop; None where it gives none."""
    for index in run.where.get("run_stop", ())[:1]:
        metadata = metadata_of(run.records[index])
        if "status" in metadata:
            return index, metadata["status"]
    return None
