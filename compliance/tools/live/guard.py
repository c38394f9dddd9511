"""Judges a run record by record, and reports a violation as soon as it is certain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from podium.compliance.judging.logs.broken_rule import RuleViolation, text_of
from podium.compliance.judging.logs.judge import judge_log
from podium.compliance.tools.live.live_rules import CONFLICTING_DECLARATION, NOT_YET_LOGGED
from podium.compliance.tools.live.partial.certain import (
    TARGET,
    Gates,
    Missing,
    Partial,
    Reading,
    missing_keys,
    slices,
)
from podium.compliance.tools.live.partial.declared import Declared, declared
from podium.compliance.tools.live.partial.table import Table
from podium.logging_spec import keys as k
from podium.logging_spec.reader.log import Log
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Check
from podium.rules.checks.points import OUTCOMES
from podium.rules.derived_records import GATHERED
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.round import DIVISIONS, Round
from podium.rules.model.scope import Scope
from podium.rules.run import Run

NAMES = ("submission_division", "submission_benchmark")

_LATE_ROLES = frozenset({"submission", "statistic", "interval_end"})
"""Roles of keys that may come after run_stop."""

_AFTER_START = frozenset({"interval_start", "interval_end", "result", "statistic", "submission"})
"""Roles of keys that a run logs after its start, or may add at its end."""

_MEASURED = frozenset({*OUTCOMES, k.AVERAGED_VALIDATION_LOSS.name})
"""Keys that only an evaluation can log."""

_RANK = {Severity.NOTE: 1, Severity.WARNING: 2, Severity.ERROR: 3}


def _rank(severity: Severity | None) -> int:
    return 0 if severity is None else _RANK[severity]


class Guard:
    """The rules of a round, applied to the records of one run as they are logged.

    A call with a record returns the findings that became certain with it: no later record can
    retract them. `finish` returns the findings that depend on the end of the log. Together they are
    the findings of `podium check`. Division and benchmark come from the log; until it has them,
    the arguments apply. With `advises`, a note at run_start names required keys that are not
    logged yet. Rounds before 0.7 are judged only at the end.
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
        advises: bool = True,
    ) -> None:
        self.declared: Declared = declared(round, division, benchmark, usage)
        self.rules = self.declared.rules
        self.profile, self.path, self.advises = Profile(profile), path, advises
        self.run = Run([])
        self.findings: list[Finding] = []
        self._reported: dict[str, Severity] = {}
        self._at_once = self.rules.generation == "mllog"
        self._settle()

    # --- interface ---

    def __call__(self, record: Record) -> tuple[Finding, ...]:
        """The findings that are certain after this record."""
        run, key = self.run, record.key
        # The index grows with the run: rebuilding it for each record would cost more and more
        positions = run.where.get(key)
        if positions is None:
            run.where[key] = [len(run.records)]
        else:
            positions.append(len(run.records))
        run.records.append(record)
        run.memo.clear()  # results for the shorter run
        # Most records, such as train_loss, concern no rule: skipping them keeps a guard cheap
        if key not in self._looked_at:
            return ()
        # The official verifier uses the first division and benchmark and ignores repeats
        if key in self._deciding and (positions is None or key not in NAMES):
            return self.report([*self._contradicted(record), *self._settle_again()])
        return self.report([*self._broken_by(record)])

    def finish(self, log: Log | None = None) -> tuple[Finding, ...]:
        """The findings that depend on the end; `log` is the log of the records, if available."""
        return self.report(self.verdict(log))

    def verdict(self, log: Log | None = None) -> list[Finding]:
        """All findings about the present log, as in `podium check`."""
        return judge_log(log or self._log(), self.rules, self.profile, self.path).findings

    def missing(self) -> list[Missing]:
        """The required keys that have not been logged, in the order of the tables."""
        return missing_keys(self.scopes, self.run, self._undecided)

    # --- applicable rules ---

    def _settle(self) -> list[Finding]:
        """Select the rules from the log's records; return findings that crash the verifier."""
        run, rules = self.run, self.rules
        # The log takes precedence: `podium check` will judge it
        division = text_of(run.value(NAMES[0])) or self.declared.division
        benchmark = text_of(rules.named_by(run)) or self.declared.benchmark
        is_named = bool(benchmark) or NAMES[1] in run.where
        self.is_constant = is_named and (
            not rules.divided or bool(division) or NAMES[0] in run.where
        )
        reading = Reading(run, rules)
        self.scopes: list[Scope] = reading.scopes_of(division, benchmark)
        self._undecided = frozenset(self._may_be_overruled(self.scopes))
        self.context = rules.context(division, benchmark)
        self._table = Table(self.scopes, self._undecided)
        self._gates = Gates(self.context, self._checks, self.is_constant)
        # New gates do not know the reported findings
        for rule in self._reported:
            self._gates.retire(rule)
        # Some keys select rules, too: resnet's rules depend on opt_name
        choosing = {v.chosen_by.name for scope in self.scopes for v in scope.variants}
        self._deciding = frozenset((*NAMES, *choosing))
        keys = {*self._table.entries, *self._table.needed_by, *self._gates.by_key}
        self._looked_at = keys | self._deciding | {"run_start", "run_stop"}
        if not self._at_once:
            self._looked_at = set()
        # Without scopes only the crash is found: other rules are judged record by record
        reading.given = ()
        return Partial(reading, self.profile, self.path).findings() if reading.crash else []

    @property
    def _checks(self) -> tuple[Check, ...]:
        by_policy = self.profile is Profile.POLICY or not self.rules.verified
        return self.rules.checks if by_policy else ()

    def _may_be_overruled(self, scopes: list[Scope]) -> Iterator[str]:
        """Keys that rules of a scope that is not yet known may decide."""
        if self.is_constant:
            for variant in (v for scope in scopes for v in scope.variants):
                # A variant overrides the rows of its keys, and it may still be chosen
                if variant.chosen_by.name not in self.run.where:
                    yield from (row.key.name for row in variant.rows if hasattr(row, "key"))
            return
        for benchmark in self.rules.benchmarks:
            for division in DIVISIONS:
                # The first scope applies to any log; a later scope that lists a key overrides it
                for scope in self.rules.scopes(division, benchmark)[1:]:
                    yield from scope.keys

    def _settle_again(self) -> Iterator[Finding]:
        yield from self._settle()
        run = self.run
        # The rules of the benchmark have not seen these records yet
        for record in run.records:
            for _, worth in self._gates.by_key.get(record.key, ()):
                worth(run, record)
        yield from self._judge(run.where)
        for check in self._gates.checks:
            yield from self._look_at(check)

    def _contradicted(self, record: Record) -> Iterator[Finding]:
        declared_value = {
            NAMES[0]: self.declared.division,
            NAMES[1]: self.declared.benchmark,
        }.get(record.key)
        if declared_value and record.value != declared_value:
            yield CONFLICTING_DECLARATION.found(
                self.profile,
                self.path,
                line=self.run.line(len(self.run.records) - 1),
                key=record.key,
                logged_key=record.key,
                shown=repr(record.value)[:60],
                value=record.value,
                given=declared_value,
            )

    # --- one record ---

    def _broken_by(self, record: Record) -> Iterator[Finding]:
        run = self.run
        names = self._table.broken_by(record, run)
        if names:
            yield from self._judge(names)
        for check, worth in self._gates.by_key.get(record.key, ()):
            if worth(run, record):
                yield from self._look_at(check)
        first = len(run.where[record.key]) == 1
        if record.key == k.RUN_START.name and first and self.advises:
            yield from self._advice()
        elif record.key == k.RUN_STOP.name and first:
            yield from self._at_stop()

    def _judge(self, names: Iterable[str]) -> Iterator[Finding]:
        decided = {*names} - self._undecided
        reading = Reading(self.run, self.rules, slices(self.scopes, decided, self.run))
        for finding in Partial(reading, self.profile, self.path).findings():
            # A missed target is certain only after the run stops
            if not finding.id.endswith(TARGET):
                yield finding

    def _look_at(self, check: Check) -> list[Finding]:
        run = self.run
        # All judges of this run share both flags: each sets them before use
        run.ordered = run.exact = False
        try:
            violations = [*check.find(run, self.context)]
        except Exception:  # reported at the end, as a fault of podium
            return []
        if not violations:
            return []
        broken = RuleViolation(
            check.id, check.key, violations, check.severity, check.stated_by, run
        )
        broken.cites = check.cites
        return Partial(Reading(run, self.rules), self.profile, self.path).findings_of(broken)

    def _advice(self) -> Iterator[Finding]:
        missing = (entry for entry in self.missing() if entry.role not in _AFTER_START)
        keys = [entry.key for entry in missing if entry.key not in _MEASURED]
        if keys and self.is_constant:
            message = f"{', '.join(keys)} {'is' if len(keys) == 1 else 'are'}"
            yield NOT_YET_LOGGED.found(self.profile, self.path, missing=message)

    def _at_stop(self) -> Iterator[Finding]:
        """The keys that are missing when the run stops, except those that may come later."""
        if not self.is_constant:
            return
        # Some benchmarks evaluate their checkpoints after run_stop
        evaluated_later = self.context.offline
        reading = Reading(self.run, self.rules, self.scopes)
        for finding in Partial(reading, self.profile, self.path).findings():
            name = finding.id.rpartition(".")[2]
            if finding.id.endswith(TARGET) or name in (*OUTCOMES, GATHERED):
                if not evaluated_later:
                    yield finding
            # A finding with a line has been reported at its record
            elif finding.line is None and name not in self._undecided:
                key = k.known(name)
                if key is not None and key.role not in _LATE_ROLES:
                    yield finding

    # --- reported findings ---

    def report(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Record findings; return those with a new rule or a higher severity than before."""
        before = self._reported
        # Reported again only with a higher severity: a repeat becomes an error if its values differ
        news = [f for f in findings if _RANK[f.severity] > _rank(before.get(f.id))]
        for finding in news:
            before[finding.id] = max(
                finding.severity, before.get(finding.id, finding.severity), key=_rank
            )
            self._gates.retire(finding.id)
        self.findings += news
        return tuple(news)

    def _log(self) -> Log:
        run = self.run
        count = len(run.records)
        lines = [run.line_of(index) for index in range(count)]
        return Log(self.rules.generation, run.records[:], places=[*range(count)], lines=lines)
