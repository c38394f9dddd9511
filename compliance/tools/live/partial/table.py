"""The rows for each key, and the constraints that are already broken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import Constraint, needs_of
from podium.rules.model.scope import Scope
from podium.rules.run import Run
from podium.rules.table import Row


@dataclass(slots=True)
class PartialRow:
    """One row of one scope, with the constraints that are already broken."""

    row: Row
    verified: tuple[Constraint, ...]
    policy: tuple[Constraint, ...]
    needs: frozenset[str]
    submits: bool
    most: int | None
    unverified: bool = False
    unpolitic: bool = False
    differs: bool = False

    def breaks(self, record: Record, run: Run, count: int) -> bool:
        """Whether the record breaks the row in a way that no record before it did."""
        news = False
        # The official verifier evaluates submission_ keys only on their first record
        if not self.submits or count == 1:
            firsts = self.row.first if count == 1 else ()
            fine = _hold(self.verified, firsts, record, run, exact=True)
            if not fine and not self.unverified:
                news = self.unverified = True
            # A value that fits exactly also fits the same constraints of the policy
            if self.policy is not self.verified or not fine:
                fine = _hold(self.policy, firsts, record, run, exact=False)
            if not fine and not self.unpolitic:
                news = self.unpolitic = True
        if self.most is not None and count > self.most and not self.differs:
            first = run.records[run.where[record.key][0]].value
            self.differs = record.value is not first and record.value != first
            # A third record with the same value adds nothing
            news = news or self.differs or count == self.most + 1
        return news or self._cannot_be_judged(record, run)

    def _cannot_be_judged(self, record: Record, run: Run) -> bool:
        """Whether the official verifier crashes on the record."""
        run.ordered = run.exact = True
        try:
            for constraint in self.row.some:
                # The official verifier stops here, so nothing after this can crash it
                if not constraint.holds(record, run):
                    break
        except Exception:
            return True
        return False


def _hold(
    constraints: tuple[Constraint, ...],
    firsts: tuple[Constraint, ...],
    record: Record,
    run: Run,
    *,
    exact: bool,
) -> bool:
    """Whether a record obeys, according to the official verifier (`exact`) or the policy."""
    run.ordered = run.exact = exact
    try:
        for constraint in constraints:
            if not constraint.holds(record, run):
                return False
        for constraint in firsts:
            if not constraint.holds(record, run):
                return False
    # In the official verifier an exception in a check (a string compared by <) is a failure
    except Exception:
        return False
    return True


class Table:
    """All rows of some scopes, by key."""

    def __init__(self, scopes: Sequence[Scope], ignored: Collection[str] = ()) -> None:
        self.entries: dict[str, list[PartialRow]] = {}
        self.needed_by: dict[str, set[str]] = {}
        for row in (row for scope in scopes for row in scope.rows):
            if row.name not in ignored:
                entry = _entry(row)
                self.entries.setdefault(row.name, []).append(entry)
                for key in entry.needs:
                    self.needed_by.setdefault(key, set()).add(row.name)

    def broken_by(self, record: Record, run: Run) -> list[str]:
        """The keys whose rows need a full judgement after the last record."""
        key = record.key
        count = len(run.where[key])
        names: list[str] = []
        run.position = len(run.records) - 1
        for entry in self.entries.get(key, ()):
            if entry.breaks(record, run, count):
                names = [key]
        # Only the first record of a key can complete a bound that waited for it
        if count == 1 and key in self.needed_by:
            waiting = [name for name in self.needed_by[key] if name in run.where]
            self._forget(waiting)
            names += waiting
        return names

    def _forget(self, names: Iterable[str]) -> None:
        """Forget cached results for these keys, which may have changed."""
        for name in names:
            for entry in self.entries[name]:
                entry.unpolitic = False


def _entry(row: Row) -> PartialRow:
    policy = row.each if row.policy is None else row.policy
    verified = policy if row.stated_by == "policy" else row.each
    return PartialRow(
        row,
        verified,
        policy,
        needs_of((*row.each, *policy, *row.first)),
        "submission_" in row.name,
        row.times.most,
    )
