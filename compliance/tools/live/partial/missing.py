"""What a run must still log, and what it can no longer log in time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from podium.rules.constraints.order import before
from podium.rules.derived_records import GATHERED
from podium.rules.model.scope import Scope
from podium.rules.run import Run
from podium.rules.table import Row


@dataclass(frozen=True, slots=True)
class Missing:
    """A required key that has not been logged. `too_late`: the key it had to come before."""

    key: str
    rule: str
    meaning: str
    role: str
    too_late: str = ""


def missing_keys(scopes: Sequence[Scope], run: Run, undecided: Collection[str]) -> list[Missing]:
    """The required keys that have not been logged, in the order of the tables."""
    # As to the official verifier, the last scope that lists a key decides it
    last = {row.name: (scope.name, row) for scope in scopes for row in scope.rows}
    found = []
    for name, (scope, row) in last.items():
        logged = not run.where.keys().isdisjoint((name, *row.times.instead))
        # No run logs the gathered record: the official verifier makes it of evaluations
        if row.times.least and not logged and name not in undecided and name != GATHERED:
            rule, late = f"{scope}.{name}", _too_late(row, run)
            found.append(Missing(name, rule, row.key.meaning, row.key.role, late))
    return found


def _too_late(row: Row, run: Run) -> str:
    """A key that stands in the log already and that the row's key had to come before."""
    barred = (each.key for each in row.each if isinstance(each, before))
    return next((key for key in barred if key in run.where), "")
