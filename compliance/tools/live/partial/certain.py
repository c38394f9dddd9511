"""The certain findings about an unfinished run, which no later record can retract.

`Gates` are the checks that can still fail, `missing_keys` the keys that a run must still log.
Most records cannot break most checks. Each check declares the records that may break it for good; a
check that a later record may satisfy waits for the end of the log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from podium.compliance.judging.logs.broken_rule import RuleViolation
from podium.compliance.judging.logs.judge import _Judgement
from podium.compliance.judging.logs.policy import PolicyReading
from podium.compliance.judging.logs.verifier import VerifierReading
from podium.logging_spec.reader.log import LineFault, Log
from podium.rules.checks import Check, Context, Worth
from podium.rules.constraints.order import before
from podium.rules.derived_records import GATHERED
from podium.rules.finding import Finding, Profile
from podium.rules.hindsight import in_hindsight
from podium.rules.model.round import Round
from podium.rules.model.scope import Scope, scope_of
from podium.rules.run import Run
from podium.rules.table import Row, WholeLogRule

TARGET = ".target"
"""The suffix of the id of a target rule."""

_AT_ONCE = frozenset({"global_batch_size.sign"})
"""Rules about a whole log that a single record breaks for good."""


class Reading(VerifierReading):
    """The official verifier's reading of an unfinished run, with the given scopes.

    The run is shared and grows; it is not copied.
    """

    def __init__(self, run: Run, rules: Round, scopes: Sequence[Scope] = ()) -> None:
        super().__init__(Log(places=[]), rules)
        self.run = run
        self.given = scopes

    def _scopes(self) -> Iterator[Scope]:
        yield from self.given

    def scopes_of(self, division: str, benchmark: str) -> list[Scope]:
        """The scopes of the run, including those that its records choose."""
        scopes: list[Scope] = []
        for scope in self.rules.scopes(division, benchmark):
            scopes.append(scope)
            scopes += self._chosen(scope)
        self._look_for_rules(division, benchmark, benchmark)
        return scopes


class Partial(_Judgement):
    """A judgement of such a reading, as in `podium check`; a guard runs the checks itself."""

    def __init__(self, reading: Reading, profile: Profile, path: str) -> None:
        self.log, self.rules, self.profile, self.path = reading.log, reading.rules, profile, path
        self.verifier = reading
        self.run = reading.run

    def findings(self) -> list[Finding]:
        """The findings of the scopes, including a crash of the official verifier."""
        broken = [*self.verifier.review()]
        if self.profile is Profile.POLICY or not self.rules.verified:
            broken = [*PolicyReading(self.verifier).review(broken)]
        return self._weighed([*self._findings(broken), *self._about_crash(self.profile)])

    def findings_of(self, broken: RuleViolation) -> list[Finding]:
        """The findings of one broken rule."""
        return self._weighed([*self._findings([broken]), *self._about_crash(self.profile)])

    def _weighed(self, findings: list[Finding]) -> list[Finding]:
        return in_hindsight(findings, self.rules, self.profile)


def line_findings(log: Log, faults: Sequence[LineFault], rules: Round, path: str) -> list[Finding]:
    """The findings about lines of a log, and about its encoding."""
    judgement = Partial(Reading(Run([]), rules), Profile.POLICY, path)
    judgement.log = log
    return in_hindsight(
        [*judgement._about_lines(faults), *judgement._about_encoding()], rules, Profile.POLICY
    )


def slices(scopes: Sequence[Scope], names: Collection[str], run: Run) -> list[Scope]:
    """The scopes reduced to some keys and to the certain constraints on them."""
    reduced = []
    for scope in scopes:
        rows = tuple(_certain(row, run) for row in scope.rows if row.name in names)
        ends = tuple(end for end in scope.ends if _is_certain(end, names))
        if rows or ends:
            reduced.append(scope_of(scope.name, (*rows, *ends), (), scope.benchmark))
    return reduced


def _is_certain(end: WholeLogRule, names: Collection[str]) -> bool:
    return end.id in _AT_ONCE and end.id.partition(".")[0] in names


def _certain(row: Row, run: Run) -> Row:
    """The row without the constraints that later records decide: absences and open bounds.

    The official verifier looks only at earlier records, so its bounds are known at once.
    """
    times = row.times if not row.times.least else replace(row.times, least=0)
    constraints = row.each if row.policy is None else row.policy
    logged = run.where.keys()
    certain = tuple(
        constraint
        for constraint in constraints
        if not constraint.awaits_end and logged >= set(constraint.needs())
    )
    policy = row.policy if len(certain) == len(constraints) else certain
    if times is row.times and policy is row.policy:
        return row
    return replace(row, times=times, policy=policy)


class Gates:
    """The checks of a round that can still fail, by the keys that may break them.

    `named`: division and benchmark are final.
    """

    def __init__(self, context: Context, checks: Iterable[Check], has_names: bool) -> None:
        self.by_key: dict[str, list[tuple[Check, Worth]]] = {}
        self.checks: list[Check] = []
        for check in checks:
            if check.watches and check.applies(context) and (has_names or not check.needs_names):
                self.checks.append(check)
                self._open(check, context)

    def _open(self, check: Check, context: Context) -> None:
        for watch in check.watches:
            worth = watch.begin(context)
            for key in watch.keys:
                self.by_key.setdefault(key, []).append((check, worth))

    def retire(self, rule: str) -> None:
        """Remove a reported check."""
        self.checks = [check for check in self.checks if check.id != rule]
        for key, waiting in list(self.by_key.items()):
            remaining = [gate for gate in waiting if gate[0].id != rule]
            if remaining:
                self.by_key[key] = remaining
            else:
                del self.by_key[key]


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
    # As in the official verifier, the last scope that lists a key decides it
    last = {row.name: (scope.name, row) for scope in scopes for row in scope.rows}
    missing = []
    for name, (scope, row) in last.items():
        logged = not run.where.keys().isdisjoint((name, *row.times.instead))
        # No run logs the collected record: the official verifier makes it from evaluations
        if row.times.least and not logged and name not in undecided and name != GATHERED:
            rule, late = f"{scope}.{name}", _too_late(row, run)
            missing.append(Missing(name, rule, row.key.meaning, row.key.role, late))
    return missing


def _too_late(row: Row, run: Run) -> str:
    """A logged key that the row's key had to precede."""
    barred = (constraint.key for constraint in row.each if isinstance(constraint, before))
    return next((key for key in barred if key in run.where), "")
