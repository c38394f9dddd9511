"""A run as the official verifier reads it: by scope and by record, including its quirks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.compliance.judging.logs.broken_rule import RuleViolation, text_of
from podium.logging_spec.reader.read import Log
from podium.rules.benchmark_names import intended
from podium.rules.derived_records import gather_metrics
from podium.rules.finding import Severity
from podium.rules.model.round import DIVISIONS, Round
from podium.rules.model.scope import Scope
from podium.rules.run import Run
from podium.rules.table import CannotJudge, Row, Violation, WholeLogRule


class VerifierReading:
    """One log according to the verifier's rules.

    `readable`: the log has the line format of the round, the only format that the verifier reads.
    `crash` is the reason of a crash, if any. `known_as` is the benchmark if the log has another
    name for it. `misnamed`: neither policy nor verifier accepts that name. `lacks_rules`: the
    verifier only lacks the rule file of a benchmark of the round. `scopes` and `cancelled` are the
    scopes that it applied and the violations that a later scope cancelled.
    """

    def __init__(self, log: Log, rules: Round) -> None:
        self.log, self.rules = log, rules
        self.readable = log.generation in (rules.generation, "none")
        self.run = Run(log.records if self.readable else [], log.line)
        self.crash = self.known_as = ""
        self.misnamed = self.lacks_rules = False
        self.cancelled: list[RuleViolation] = []
        self.scopes: list[Scope] = []

    def review(self) -> Iterator[RuleViolation]:
        """Violations in the verifier's reading: the last scope that lists a key decides."""
        by_key: dict[str, RuleViolation] = {}
        # Violations without a key, which no later scope can cancel
        keyless: list[RuleViolation] = []
        run = self.run
        # Its formulas see only the records before a record, and compare floats with ==. The run is
        # shared with PolicyReading, which changes both
        run.ordered = run.exact = True
        for scope in self._scopes():
            self.scopes.append(scope)
            if by_key:
                # It applies its rule files one after the other to the whole log. Before each, it
                # drops earlier violations for the keys that the file lists.
                for name in scope.keys & by_key.keys():
                    self.cancelled.append(by_key.pop(name))
            for rule, row in scope.verified:
                violations = row.judge(run)
                if violations:
                    broken_rule = self.broken(rule, row, violations)
                    if broken_rule.key is None:
                        keyless.append(broken_rule)
                    else:
                        by_key[row.name] = broken_rule
                if row.some:
                    keyless.extend(self._missed(rule, row))
            for end in scope.ends:
                keyless.extend(self._ended(scope, end))
        yield from by_key.values()
        yield from keyless

    def _missed(self, rule: str, row: Row) -> Iterator[RuleViolation]:
        try:
            # An exception in this kind of test is not caught there, and ends the program
            violations = row.judge_some(self.run)
        except CannotJudge as problem:
            self.crashes(problem.position, problem.why)
            return
        if violations:
            yield self.broken_target(rule, row, violations)

    def broken(self, rule: str, row: Row, violations: list[Violation]) -> RuleViolation:
        """A violated row; only a warning if all violations are repeated records that agree."""
        # If all values of a key agree, it prints a warning instead of rejecting the log.
        only_repeats = all(violation.repeats for violation in violations)
        severity = Severity.WARNING if only_repeats else Severity.ERROR
        key = None if violations[0].keyless else row.name
        return RuleViolation(
            rule, key, violations, severity, row.stated_by, self.run, row, row.cites
        )

    def broken_target(self, rule: str, row: Row, violations: list[Violation]) -> RuleViolation:
        """A target that no record reached: the verifier reports it without a key."""
        rule = rule.rpartition(".")[0] + ".target"
        error = Severity.ERROR
        return RuleViolation(rule, None, violations, error, row.stated_by, self.run, row, row.cites)

    def _ended(self, scope: Scope, end: WholeLogRule) -> Iterator[RuleViolation]:
        try:
            violations = list(end.find(self.run))
        except CannotJudge as problem:
            self.crashes(problem.position, problem.why)
            return
        except TypeError:
            # It counts an exception in a check at the end of a log as a failed check.
            violations = [Violation(None, f"{end.text}: the logged values cannot be compared")]
        if violations:
            rule = f"{scope.name}.{end.id}"
            error = Severity.ERROR
            yield RuleViolation(
                rule,
                None,
                violations,
                error,
                end.stated_by,
                self.run,
                None,
                end.cites,
                bool(end.policy_exempt_reason),
            )

    def crashes(self, position: int | None, reason: str) -> None:
        """Note why the official verifier crashes; the first reason is kept."""
        # It ends at the first crash, and does not reach later ones
        if not self.crash and self.rules.verified:
            line = None if position is None else self.run.line(position)
            self.crash = reason if line is None else f"line {line}: {reason}"

    def _scopes(self) -> Iterator[Scope]:
        run, rules = self.run, self.rules
        division, benchmark = run.value("submission_division"), rules.named_by(run)
        division, name = text_of(division), text_of(benchmark)
        known_benchmark = rules.benchmarks.get(name)
        for scope in rules.scopes(division, name):
            # The code that gathers metrics is in the benchmark's own rule file.
            if scope.benchmark and known_benchmark is not None and known_benchmark.gathers:
                try:
                    gather_metrics(run, known_benchmark.gathers)
                except CannotJudge as problem:
                    self.crashes(problem.position, problem.why)
            yield scope
            if scope.variants:
                yield from self._chosen(scope)
        self._look_for_rules(division, benchmark, name)

    def _chosen(self, scope: Scope) -> Iterator[Scope]:
        """Scopes that optimizer and scheduler records choose, in the order of those records."""
        selectors = {variant.chosen_by.name: variant for variant in scope.variants}
        # Its rule files are queued when it reads such records, one for each record
        positions = sorted(i for key in selectors for i in self.run.where.get(key, ()))
        for index in positions:
            record = self.run.records[index]
            value = record.value
            selector = selectors[record.key]
            for variant, chosen_scope in zip(scope.variants, scope.chosen, strict=True):
                if variant.chosen_by_record(record, selector.lower):
                    yield chosen_scope
                    break
            else:
                if selector.required and (isinstance(value, str) or not selector.lower):
                    self.crashes(index, f"it has no rules for {record.key} {value!r}")

    def _look_for_rules(self, division: str, benchmark: Any, name: str) -> None:
        run, rules = self.run, self.rules
        # It makes the name of a rule file from the logged value, and crashes without such a file
        if rules.divided and "submission_division" in run.where and division not in DIVISIONS:
            logged_division = run.value("submission_division")
            self.crashes(None, f"it has no rules for the division {logged_division!r}")
        elif (
            "submission_benchmark" in run.where
            and (division in DIVISIONS or not rules.divided)
            and not rules.has_rules(division, name)
        ):
            if not self.crash:
                self.known_as = rules.aliases.get(name, "")
                self.lacks_rules = name in rules.allowed
            if name not in (*rules.allowed, *rules.benchmarks, *rules.aliases):
                self.known_as = intended(name, rules)
                self.misnamed = bool(self.known_as)
            self.crashes(None, f"it has no rules for the benchmark {benchmark!r}")
