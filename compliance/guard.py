"""Judges a run record by record: tells what is wrong with it as soon as that is certain."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from compliance.errors import UsageFault
from compliance.judge import judge_log
from compliance.reading import Broken, text_of
from compliance.watching.certain import TARGET, Partial, Reading, slices
from compliance.watching.gates import Gates
from compliance.watching.table import Table
from logging_spec import keys as k
from logging_spec.log import Log
from logging_spec.record import Record
from rules.catalogue import UnknownRound, find_round, newest
from rules.checks import Check, Context
from rules.checks.points import is_offline
from rules.finding import Finding, Profile, Severity
from rules.round import DIVISIONS, Round, Scope
from rules.run import Run

NOT_YET = "guard.not-yet-logged"
OTHERWISE = "guard.declared-otherwise"

_LATE = frozenset({"submission", "statistic", "interval_end"})
"""Roles of keys that may still come after run_stop."""

_RANK = {Severity.NOTE: 1, Severity.WARNING: 2, Severity.ERROR: 3}


@dataclass(frozen=True, slots=True)
class Missing:
    """A required key that has not been logged; `in_time` is False where it would come too late."""

    key: str
    rule: str
    meaning: str
    role: str
    in_time: bool


class Guard:
    """The rules of a round, held against the records of one run as they come.

    Called with a record, it returns the findings that became certain with it: no later record can
    take them back. `finish` returns what only the end of the log decides; with it the findings are
    those of `podium check`. Division and benchmark are what the log says, and until it says so,
    what is given here. With `advises`, a note at run_start names what is required and still missing.
    """

    def __init__(
        self,
        round: str | Round | None = None,  # noqa: A002 - the contract's name
        division: str | None = None,
        benchmark: str | None = None,
        usage: str = "training",
        *,
        profile: Profile | Literal["policy", "verifier"] = Profile.POLICY,
        path: str = "",
        line_of: Callable[[int], int] = lambda index: index + 1,
        advises: bool = True,
    ) -> None:
        self.rules = round if isinstance(round, Round) else _round(usage, round)
        self.profile, self.path, self.advises = Profile(profile), path, advises
        self.declared = _declared(self.rules, division, benchmark)
        self.run = Run([], line_of)
        self.findings: list[Finding] = []
        self._said: dict[str, Severity] = {}
        self._stopped = False
        self._as_a_whole = self.rules.generation != "mllog"
        self._settle()

    def __call__(self, record: Record) -> tuple[Finding, ...]:
        """The findings that are certain now that this record is there."""
        run, key = self.run, record.key
        run.records.append(record)
        where = run.where.get(key)
        if where is None:
            run.where[key] = [len(run.records) - 1]
        else:
            where.append(len(run.records) - 1)
        if key not in self._looked_at or self._as_a_whole:
            return ()
        if key in self._naming and where is None:
            return self._new([*self._mismatch(record), *self._resettle()])
        return self._new(self._found_by(record))

    def finish(self, log: Log | None = None) -> tuple[Finding, ...]:
        """What only the end of the log decides; `log` is the log itself where it is at hand."""
        return self._new(self.verdict(log), settled=True)

    def verdict(self, log: Log | None = None) -> list[Finding]:
        """All findings about the log as it stands, as `podium check` has them."""
        return judge_log(log or self._log(), self.rules, self.profile, self.path).findings

    def missing(self) -> list[Missing]:
        """The required keys that have not been logged, in the order of the tables."""
        last = {row.name: (scope, row) for scope in self.scopes for row in scope.rows}
        run, found = self.run, []
        for name, (scope, row) in last.items():
            logged = run.where.keys() & {name, *row.times.instead}
            if row.times.least and not logged and row.name not in self._contested:
                barred = [key for each in row.each if (key := getattr(each, "key", ""))]
                late = any(type(c).__name__ == "before" and c.key in run.where for c in row.each)  # type: ignore[attr-defined]
                del barred
                rule = f"{scope.name}.{name}"
                found.append(Missing(name, rule, row.key.meaning, row.key.role, not late))
        return found
