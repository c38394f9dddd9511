"""Rows of rule tables: a key, how often it is logged, and the constraints on its records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NotRequired, TypedDict, Unpack

import msgspec
from msgspec.structs import replace

from podium.logging_spec.keys import Key
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import Constraint
from podium.rules.constraints.formula import show_logged
from podium.rules.finding import Severity, StatedBy
from podium.rules.run import Run


class Times(msgspec.Struct, frozen=True):
    """How often a key must be logged."""

    text: str
    least: int = 0
    most: int | None = None
    instead: tuple[str, ...] = ()

    def otherwise(self, *keys: str) -> Times:
        """The same, but any of these other keys may replace the key."""
        return replace(self, instead=keys)


ONCE = Times("exactly once", 1, 1)
AT_LEAST_ONCE = Times("at least once", 1)
OPTIONAL = Times("any number of times")


def at_least_times(count: int) -> Times:
    """At least `count` records of the key."""
    return Times(f"at least {count} times", count)


class Violation(msgspec.Struct, frozen=True):
    """A violated rule: the index of the record at fault (None: it is missing) and the reason."""

    position: int | None
    message: str
    expected: str = ""
    actual: Any = None
    hint: str = ""
    repeats: bool = False
    """Several records that all agree: the official verifier only warns."""
    keyless: bool = False
    """One of several keys is missing: no single one is at fault."""


class CannotJudge(Exception):
    """A record on which the official verifier crashes."""

    def __init__(self, position: int | None, why: str) -> None:
        super().__init__(why)
        self.position = position
        self.why = why


class Row(msgspec.Struct, frozen=True, dict=True):
    """One row of a table: a key and its constraints.

    Every record of the key must satisfy `each`, the first record `first`, and at least one record
    all of `some`. `policy` replaces `each` (and `policy_some` replaces `some`) if the written
    policy differs from the official verifier; `why` says how. `policy_exempt_reason` says why the
    policy does not require something that only the verifier requires: such a violation is a warning
    in the policy profile. `policy_severity` is the severity of a violation of the policy alone: an
    error if the rules are strict, a warning if the committee may grant it.
    """

    key: Key
    each: tuple[Constraint, ...] = ()
    times: Times = ONCE
    first: tuple[Constraint, ...] = ()
    some: tuple[Constraint, ...] = ()
    policy: tuple[Constraint, ...] | None = None
    policy_some: tuple[Constraint, ...] | None = None
    stated_by: StatedBy = StatedBy.BOTH
    why: str = ""
    hint: str = ""
    cites: str = ""
    policy_exempt_reason: str = ""
    policy_severity: Severity = Severity.WARNING

    @cached_property
    def name(self) -> str:
        """The key's name."""
        return self.key.name

    def judge(self, run: Run) -> list[Violation]:
        """All violations of this row except of `some`; an empty list for a valid run."""
        indices = run.where.get(self.name)
        if indices is None and not run.exact and self.key.formerly:
            indices = self._otherwise_named(run)
        if indices is None:
            missing = self.times.least and not any(key in run.where for key in self.times.instead)
            return [self._absent()] if missing else []
        single = len(indices) == 1 and self.times.least <= 1 and not self.first
        if single and _obeys(self.each, indices[0], run):
            return []  # true of nearly every row of nearly every log
        # The verifier tests only the first record of a submission_… key.
        selection = indices[:1] if "submission_" in self.name else indices
        violations = [*self._miscounted(indices, run), *self._broken(self.each, selection, run)]
        if self.first:
            violations += self._broken(self.first, indices[:1], run)
        return violations

    def _otherwise_named(self, run: Run) -> list[int] | None:
        """Records under the policy's other names for the key, which the verifier does not know."""
        indices = [index for name in self.key.formerly for index in run.where.get(name, ())]
        return indices or None

    @cached_property
    def as_policy(self) -> Row:
        """The row according to the written policy."""
        if self.policy is None and self.policy_some is None:
            return self
        return replace(
            self,
            each=self.each if self.policy is None else self.policy,
            some=self.some if self.policy_some is None else self.policy_some,
            policy=None,
            policy_some=None,
        )

    def judge_some(self, run: Run) -> list[Violation]:
        """The violation of `some`: no record satisfies all of it.

        Raises CannotJudge if a record cannot be tested at all.
        """
        indices = run.where.get(self.name)
        if not self.some or not indices:
            return []
        first: int | None = None
        # The verifier guards its other checks with a try block, but not this one: it crashes on any
        # record that cannot be tested, also on one after the target was reached.
        for index in indices:
            run.position = index
            record = run.records[index]
            try:
                for constraint in self.some:
                    if not constraint.holds(record, run):
                        break
                else:
                    first = index if first is None else first
            except Exception as error:
                raise CannotJudge(index, f"{self.name} is {show_logged(record.value)}") from error
        # The policy would find the same record and need not search again
        if all(constraint.is_constant for constraint in self.some):
            run.memo[self.name, self.some] = first
        return [] if first is not None else [self._missed(indices, run)]

    def reached(self, run: Run, index: int) -> bool:
        """Whether a record satisfies all of `some`; a value of the wrong type never does."""
        return _obeys(self.some, index, run)

    def first_reached(self, run: Run) -> int | None:
        """The first record of the key that satisfies all of `some`; computed once for a run."""
        memo_key = (self.name, self.some)
        if memo_key not in run.memo:
            matches = (index for index in run.where.get(self.name, ()) if self.reached(run, index))
            run.memo[memo_key] = next(matches, None)
        first: int | None = run.memo[memo_key]
        return first

    def _missed(self, indices: list[int], run: Run) -> Violation:
        expected = " and ".join(constraint.expected(run) for constraint in self.some)
        last = run.records[indices[-1]]
        return Violation(
            indices[-1],
            f"no {self.name} is {expected}; the last of {len(indices)} is "
            f"{show_logged(last.value)}",
            expected,
            last.value,
            "a run that ends before the target is reached does not count as converged",
        )

    def _broken(
        self, constraints: tuple[Constraint, ...], positions: list[int], run: Run
    ) -> list[Violation]:
        """One violation for each record at fault, for the first constraint that it violates."""
        failures: dict[int, Constraint] = {}
        for constraint in constraints:
            for index in constraint.broken(positions, run):
                # The verifier keeps one message per key; a message per record shows every place
                failures.setdefault(index, constraint)
        return [self._violation(failures[index], index, run) for index in sorted(failures)]

    def _miscounted(self, indices: list[int], run: Run) -> list[Violation]:
        """The violation of `times` by a key that is logged."""
        times, count = self.times, len(indices)
        if times.most is not None and count > times.most:
            return [self._repeated(run, indices)]
        return [self._absent(count)] if count < times.least else []

    def _violation(self, constraint: Constraint, index: int, run: Run) -> Violation:
        record = run.records[index]
        run.position = index
        return Violation(
            index,
            constraint.says(record, run),
            constraint.expected(run),
            constraint.actual(record),
            self.hint or constraint.advice(self.key.name, run),
        )

    def _absent(self, count: int = 0) -> Violation:
        times = self.times
        keys = " or ".join((self.name, *times.instead))
        how_often = f"logged {count} times" if count else "not logged"
        return Violation(
            None,
            f"{keys} is {how_often}; must be logged {times.text}",
            times.text,
            count or None,
            self.hint or f"log {keys}: {self.key.meaning}",
            # The verifier lists such a fault separately from keys: no later scope cancels it
            keyless=bool(times.instead),
        )

    def _repeated(self, run: Run, indices: list[int]) -> Violation:
        records = [run.records[index] for index in indices]
        equal = _all_same(records)
        name = self.key.name
        values = "all with the same value" if equal else "with different values"
        return Violation(
            indices[1],
            f"{name} is logged {len(indices)} times, {values}; must be logged {self.times.text}",
            self.times.text,
            len(indices),
            f"log {name} from one process only",
            repeats=equal,
        )


def _obeys(constraints: tuple[Constraint, ...], index: int, run: Run) -> bool:
    """Whether a record satisfies all constraints; a record that cannot be tested does not."""
    run.position = index
    record = run.records[index]
    try:
        for constraint in constraints:
            if not constraint.holds(record, run):
                return False
    except Exception:
        return False
    return True


def _all_same(records: list[Record]) -> bool:
    first = records[0].value
    # The JSON reader gives one object for every NaN, so the official verifier treats NaNs as equal.
    return all(record.value is first or record.value == first for record in records)


class WholeLogRule(msgspec.Struct, frozen=True):
    """A rule about a whole log, which is checked at its end."""

    id: str
    text: str
    find: Callable[[Run], Iterator[Violation]]
    why: str = ""
    cites: str = ""
    stated_by: StatedBy = StatedBy.BOTH
    policy_exempt_reason: str = ""

    def __eq__(self, other: object) -> bool:
        # Functions cannot be compared, but rounds are, to refuse a change without effect
        return isinstance(other, WholeLogRule) and (self.id, self.text) == (other.id, other.text)

    def __hash__(self) -> int:
        return hash((self.id, self.text))


Line = Row | WholeLogRule


class Target(msgspec.Struct, frozen=True):
    """The target of a record if the policy and the official verifier differ."""

    verifier: tuple[Constraint, ...]
    policy: tuple[Constraint, ...]


class RowTexts(TypedDict):
    """The texts of a row: see the fields of `Row`."""

    why: NotRequired[str]
    hint: NotRequired[str]
    cites: NotRequired[str]
    policy_severity: NotRequired[Severity]


class SharedRowTexts(RowTexts):
    """The texts of a row that both the policy and the verifier state."""

    policy_exempt_reason: NotRequired[str]


def row(
    key: Key,
    *constraints: Constraint,
    times: Times = ONCE,
    some: tuple[Constraint, ...] | Target = (),
    policy: Constraint | tuple[Constraint, ...] | None = None,
    **texts: Unpack[SharedRowTexts],
) -> Row:
    """A row of a table: the key, and the constraints on all its records or only the first."""
    if isinstance(policy, Constraint):
        policy = (policy,)
    exempt = texts.get("policy_exempt_reason")
    return Row(
        key,
        each=tuple(constraint for constraint in constraints if not constraint.first_only),
        times=times,
        first=tuple(constraint for constraint in constraints if constraint.first_only),
        some=some.verifier if isinstance(some, Target) else some,
        policy=policy,
        policy_some=some.policy if isinstance(some, Target) else None,
        stated_by=StatedBy.VERIFIER if exempt else StatedBy.BOTH,
        **texts,
    )


def policy_row(key: Key, *constraints: Constraint, **texts: Unpack[RowTexts]) -> Row:
    """A row that only the written policy has; the official verifier ignores the key."""
    return Row(key, each=constraints, times=OPTIONAL, stated_by=StatedBy.POLICY, **texts)
