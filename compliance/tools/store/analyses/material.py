"""The results of a store with their runs, for analyses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from podium.compliance.tools.store.queries.connection import fetch
from podium.compliance.tools.store.schema import RESULTS, RUNS


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run: the columns of `runs` that analyses use. Times are minutes."""

    file: str
    line: int | None
    result: str
    minutes: float | None
    converged: bool | None
    role: str
    to_converge: float | None
    init_minutes: float | None
    staging_minutes: float | None
    first_epoch_minutes: float | None
    evaluation_minutes: float | None
    epochs: int | None
    joules: float | None

    @property
    def counts(self) -> bool:
        """Whether the run was timed and reached its target."""
        return self.role in ("scored", "fastest", "slowest", "instance") and bool(self.minutes)

    @property
    def training_minutes(self) -> float | None:
        """The time without evaluation and staging."""
        if self.minutes is None:
            return None
        return self.minutes - (self.evaluation_minutes or 0.0) - (self.staging_minutes or 0.0)


class ResultRow(msgspec.Struct, frozen=True, kw_only=True):
    """One result: the columns of `results` that analyses use, and its runs."""

    suite: str
    round: str
    file: str
    line: int | None
    result: str
    submitter: str
    system: str
    benchmark: str
    division: str
    model: str
    comparable_from: str
    comparable_to: str
    category: str | None
    scaling: Literal["strong", "weak"]
    verdict: str | None
    minutes: float | None
    factor: float | None
    score: float | None
    needed: int
    dropped: int
    nodes: int | None
    chips: int | None
    chip: str | None
    framework: str | None
    batch_size: float | None
    to_converge: float | None
    unit: str
    official_joules: float | None = None
    energy_gap: str | None = None
    joules: float | None
    models: int | None
    minutes_of_all: float | None
    models_per_minute: float | None
    runs: tuple[RunRow, ...] = ()

    @property
    def counted(self) -> list[RunRow]:
        """The runs that reached the target."""
        return [run for run in self.runs if run.counts]

    @property
    def scored(self) -> list[RunRow]:
        """The runs whose mean is the result."""
        return [run for run in self.runs if run.role == "scored"]


# In the table, `runs` is their number
RESULT_FIELDS = [name for name in RESULTS.names if name in ResultRow.__struct_fields__[:-1]]
RUN_FIELDS = [name for name in RUNS.names if name in RunRow.__struct_fields__]


def read_results(connection: Any) -> list[ResultRow]:
    """Every result of a store with its runs, by suite, round and path."""
    runs: dict[str, list[RunRow]] = {}
    for values in fetch(connection.sql("FROM runs").select(*RUN_FIELDS)):
        run = RunRow(**dict(zip(RUN_FIELDS, values, strict=True)))
        runs.setdefault(run.result, []).append(run)
    records = fetch(connection.sql("FROM results").select(*RESULT_FIELDS))
    rows = [dict(zip(RESULT_FIELDS, values, strict=True)) for values in records]
    results = [ResultRow(**row, runs=tuple(runs.get(row["result"], ()))) for row in rows]
    return sorted(
        results, key=lambda result: (result.suite, round_order(result.round), result.result)
    )


def round_order(name: str) -> tuple[int, ...]:
    """Rounds in the order of their numbers."""
    return tuple(int(part) for part in name.split(".") if part.isdigit())


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of the values; None if a value is unknown or there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(values) else None
