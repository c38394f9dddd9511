"""Values that several checks read from a run: evaluations, training positions and the target."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context
from podium.rules.constraints.formula import show
from podium.rules.run import Run, as_number, metadata_of
from podium.rules.table import Row

POSITIONS = ("samples_count", "epoch_num", "step_num")
"""Metadata members that give the training position, the most informative first."""

OUTCOMES = ("eval_accuracy", "eval_error")
"""Keys that log the outcome of an evaluation."""

EXACT = 1 << 53
"""Integers from here on may have no equal floating-point number."""

_PLAIN = {int, float}

TRAINING = "training rules, "
"""Start of each citation of the training rules."""


def evaluations(run: Run) -> list[int]:
    """Indices of the records with the outcome of an evaluation, in file order."""
    # CosmoFlow and OC20 log an error; all others log eval_accuracy, even where it is a loss
    return run.where.get("eval_error") or run.where.get("eval_accuracy") or []


def outcome_key(run: Run) -> str:
    """The key under which this run logs its quality."""
    return "eval_error" if "eval_error" in run.where else "eval_accuracy"


def position(record: Record, names: Iterable[str] = POSITIONS) -> tuple[str, float] | None:
    """(metadata member, number) of the first of these members that the record has."""
    metadata = record.metadata
    if isinstance(metadata, dict):
        for name in names:
            if name in metadata:
                number = as_number(metadata[name])
                if number is not None:
                    return name, number
    return None


def members_for(unit: str) -> tuple[str, ...]:
    """The metadata members that give the training position, the one in this unit first."""
    first = "epoch_num" if unit == "epochs" else "samples_count"
    return (first, *(name for name in POSITIONS if name != first))


def where_is(point: tuple[str, float] | None) -> str:
    """A position in the wording of messages."""
    return "an earlier evaluation" if point is None else f"{point[0]} {show(point[1])}"


class Marks(msgspec.Struct, frozen=True):
    """Training positions in the records of one key: their indices and positions, in file order.

    `unit` is the metadata member with the position; records without it are left out. `ranked` are
    the positions in ascending order.
    """

    unit: str
    places: list[int]
    values: list[float]
    ranked: list[float]

    def first_at(self) -> dict[float, int]:
        """The first record of each position."""
        return dict(zip(reversed(self.values), reversed(self.places), strict=True))

    def not_among(self, others: Marks) -> list[tuple[int, float]]:
        """(index, position) of the records whose position is not among the others."""
        if self.values == others.values:  # nearly always true, and faster to test
            return []
        missing = {*self.values} - {*others.values}
        if not missing:
            return []
        marks = zip(self.places, self.values, strict=True)
        return [(index, value) for index, value in marks if value in missing]


def marks_of(run: Run, key: str, names: tuple[str, ...] = POSITIONS) -> Marks | None:
    """The positions in the records of a key, read from the member that the first record has."""
    memo_key = ("marks", key, names)
    if memo_key not in run.memo:
        run.memo[memo_key] = _read_marks(run, key, names)
    marks: Marks | None = run.memo[memo_key]
    return marks


def _read_marks(run: Run, key: str, names: tuple[str, ...]) -> Marks | None:
    indices = run.where.get(key)
    point = position(run.records[indices[0]], names) if indices else None
    if not indices or point is None:
        return None
    records, name = run.records, point[0]
    try:
        # Nearly always every record has the member as a plain number.
        values = [records[index].metadata[name] for index in indices]
        # By exact type, because isinstance would accept true and false as numbers
        if {*map(type, values)} <= _PLAIN:
            ranked = sorted(values)
            if ranked[0] > -EXACT and ranked[-1] < EXACT:
                return Marks(name, indices, values, ranked)
    # A member may be missing, and metadata need not be an object
    except (KeyError, TypeError, IndexError):
        pass
    usable_indices, values = [], []
    for index in indices:
        value = as_number(metadata_of(records[index]).get(name))
        if value is not None:
            usable_indices.append(index)
            values.append(value)
    return Marks(name, usable_indices, values, sorted(values))


def target_of(context: Context) -> Row | None:
    """The row of the closed table with the quality that an evaluation must reach."""
    if context.benchmark is None or context.division != "closed":
        return None
    return context.benchmark.quality


def evaluations_before(run: Run, index: int) -> list[int]:
    """The evaluations that are logged before a record."""
    indices = evaluations(run)
    return indices[: bisect_left(indices, index)]


def first_passing(run: Run, target: Row, indices: Sequence[int]) -> int | None:
    """The first of the evaluations at these places that reaches the target."""
    if target.name != outcome_key(run):
        return next((index for index in indices if target.reached(run, index)), None)
    first = target.first_reached(run)
    return first if first is not None and indices and first <= indices[-1] else None


def earliest_passing(run: Run, target: Row) -> int | None:
    """The evaluation that reaches the target with the least training, wherever it is in the log."""
    candidates: list[tuple[float, int]] = []
    for index in evaluations(run):
        point = position(run.records[index])
        if point is not None and target.reached(run, index):
            candidates.append((point[1], index))
    return min(candidates, default=(0.0, None))[1]


def times(run: Run, key: str) -> list[float]:
    """The times of the records of a key, in file order."""
    records = run.records
    return [records[index].time_ms for index in run.where.get(key, ())]


def minutes(milliseconds: float) -> str:
    """A duration in the wording of messages."""
    if abs(milliseconds) < 60_000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds / 60_000:.4g} min"


def status_of(run: Run) -> tuple[int, Any] | None:
    """(index, status) of the first run_stop; None if it has no status."""
    # The first run_stop stops the clock; another check reports further ones
    for index in run.where.get("run_stop", ())[:1]:
        metadata = metadata_of(run.records[index])
        if "status" in metadata:
            return index, metadata["status"]
    return None
