"""A run as the written policy reads it, given the violations that the official verifier found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from msgspec.structs import replace

from podium.compliance.judging.logs.broken_rule import RuleViolation, text_of
from podium.compliance.judging.logs.log_rules import CRASHED
from podium.compliance.judging.logs.verifier import VerifierReading
from podium.logging_spec.reader.log import Log
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Check
from podium.rules.citations import COMPLIANCE_CHECKER
from podium.rules.finding import Severity, StatedBy
from podium.rules.model.round import Round
from podium.rules.model.scope import Scope
from podium.rules.run import Run
from podium.rules.table import CannotJudge, Row, Violation


class PolicyReading:
    """The run according to the written policy, in any order; floats may differ by 1e-9 (relative).

    A requirement of both policy and verifier is an error. The row of a requirement of the policy
    alone states its severity: an error if the rules are strict, otherwise a warning. A requirement
    of the verifier alone is a warning, or a note in rounds that today's verifier did not check. In
    a round without a verifier, the policy's requirements are errors. A key may have the name in the
    policy's text.
    """

    def __init__(self, verifier: VerifierReading) -> None:
        self.verifier = verifier
        self.rules = verifier.rules
        self.run, log = verifier.run, verifier.log
        if log.lenient and verifier.readable:
            self.run = tolerant_run(log)
        elif log.places is None:
            self.run.plain_json = True
        # All records that can be read, including those without a time: for rules about values
        self.legible = legible_run(log) if log.timeless and verifier.readable else self.run
        for run in (self.run, self.legible):
            # The policy does not require an order of hyperparameters, or the last digit in formulas
            run.ordered = run.exact = False
        self.context = self.rules.context(
            text_of(self.legible.value("submission_division")),
            verifier.known_as or text_of(self.rules.named_by(self.legible)),
        )

    def review(self, broken_rules: list[RuleViolation]) -> Iterator[RuleViolation]:
        """The verifier's violations with their severity in the policy, and the policy's own.

        Violations of checks are not included: see `found_by`.
        """
        rule_ids = set()
        for rule in broken_rules:
            rule_ids.add(rule.id)
            yield from self._weigh(rule)
        scopes = {scope.name: scope for scope in (*self.verifier.scopes, *self._added())}
        for scope in scopes.values():
            if scope.policy:
                yield from self._own(scope, rule_ids)
        if self.verifier.cancelled:
            yield from self._dropped()

    def _own(self, scope: Scope, rule_ids: set[str]) -> Iterator[RuleViolation]:
        """Violations of a scope's policy rows that the verifier did not report."""
        for rule, row in scope.policy:
            violations = self._judge(row)
            # The verifier's violations are included already, and must not be reported again
            if violations and rule not in rule_ids:
                yield self._stated(rule, row, violations)
            target = rule.rpartition(".")[0] + ".target"
            if row.some and target not in rule_ids:
                target_violations = _attempt(row, self.legible)
                if target_violations:
                    yield self._stated(target, row, target_violations, key=None)

    def _added(self) -> list[Scope]:
        """The rules of a benchmark that the verifier does not know by its logged name.

        Otherwise the rules of a division or benchmark in lines that the verifier cannot read.
        """
        verifier, context = self.verifier, self.context
        if verifier.known_as:
            scopes = self.rules.scopes(context.division, verifier.known_as)
            return [scope.by_policy() for scope in scopes if scope.benchmark]
        if self.legible is verifier.run:
            return []
        name = context.benchmark.name if context.benchmark else ""
        names = {scope.name for scope in verifier.scopes}
        scopes = self.rules.scopes(context.division, name)
        return [scope.by_policy() for scope in scopes if scope.name not in names]

    def _judge(self, row: Row) -> list[Violation]:
        """The violations of a row; records without a time are not checked for durations."""
        violations = row.judge(self.legible)
        if self.legible is self.run or row.key.role not in ("interval_start", "interval_end"):
            return violations
        return [violation for violation in violations if violation.position is None]

    def _weigh(self, rule: RuleViolation) -> Iterator[RuleViolation]:
        row = rule.row
        if rule.severity is Severity.ERROR and (
            rule.policy_exempt_reason or (row and row.policy_exempt_reason)
        ):
            yield self._only_verifier(rule)
            return
        if row is None or rule.severity is not Severity.ERROR:
            yield rule
            return
        # Checked again: the verifier may reject the order of lines or the last digit of a float
        policy = row.as_policy
        target = rule.id.endswith(".target")
        violations = _attempt(policy, self.legible) if target else self._judge(policy)
        if violations:
            combined = replace(rule, violations=violations, run=self.legible)
            yield (
                combined
                if row.policy is None or self._otherwise_named(row)
                else replace(combined, violations=rule.violations, run=rule.run)
            )
        elif not self._otherwise_named(row):
            yield self._only_verifier(rule)

    def _only_verifier(self, rule: RuleViolation) -> RuleViolation:
        """A violation that only the official verifier rejects."""
        row = rule.row
        is_unread = row is not None and self.legible is not self.verifier.run
        return replace(
            rule,
            severity=Severity.WARNING,
            stated_by=StatedBy.VERIFIER,
            cites=COMPLIANCE_CHECKER,
            unread=is_unread and row is not None and not self._judge(row),
        )

    def _otherwise_named(self, row: Row) -> bool:
        """Whether a log has the policy's own name of a key, which is valid."""
        positions = self.legible.where
        return row.name not in positions and any(name in positions for name in row.key.formerly)

    def _stated(
        self, rule: str, row: Row, violations: list[Violation], key: str | None = ""
    ) -> RuleViolation:
        severity = row.policy_severity if self.rules.verified else Severity.ERROR
        name = row.name if key == "" else key
        return RuleViolation(
            rule, name, violations, severity, StatedBy.POLICY, self.legible, row, row.cites
        )

    def _dropped(self) -> Iterator[RuleViolation]:
        """Values that an outer table rejects, if an inner row only names the key."""
        # So gradient_accumulation_steps -5 passes the official verifier for llama2_70b_lora
        last = {row.name: row for scope in self.verifier.scopes for row in scope.rows}
        for rule in self.verifier.cancelled:
            row = last.get(rule.key or "")
            values = [v for v in rule.violations if v.position is not None and not v.repeats]
            if row is not None and not row.each and values and rule.row is not None:
                violations = [v for v in self._judge(rule.row) if v.position is not None]
                if violations and not any(v.repeats for v in violations):
                    yield self._stated(rule.id, rule.row, violations)

    def found_by(self, checks: tuple[Check, ...]) -> Iterator[RuleViolation]:
        """Violations of checks, all of which apply to the log's division."""
        if not self.run.records:
            return
        run, context = self.run, self.context
        for rule in checks:
            try:
                violations = [*rule.find(run, context)]
            except Exception as error:  # a crashing rule must not hide the findings of others
                yield self._crashed(rule, error)
                continue
            if violations:
                yield RuleViolation(
                    rule.id,
                    rule.key,
                    violations,
                    rule.severity,
                    rule.stated_by,
                    self.run,
                    None,
                    rule.cites,
                )

    def _crashed(self, rule: Check, error: Exception) -> RuleViolation:
        text = f"{type(error).__name__}: {error}"
        violation = Violation(
            None, CRASHED.message.format(error=text, where=f"rule {rule.id}"), hint=CRASHED.help
        )
        return RuleViolation(
            CRASHED.id,
            None,
            [violation],
            Severity.ERROR,
            CRASHED.stated_by,
            self.run,
            None,
            CRASHED.cites,
        )


def policy_run(log: Log, rules: Round) -> Run:
    """A log's run for checks: the records of a tolerant reader, in any order."""
    return PolicyReading(VerifierReading(log, rules)).run


def tolerant_run(log: Log) -> Run:
    """All records of a log, including those that only a tolerant reader reads."""
    return _run_of(log.placed_records(), log)


def legible_run(log: Log) -> Run:
    """All records of a log, including those without a time."""
    return _run_of(sorted([*log.placed_records(), *log.timeless], key=itemgetter(0)), log)


def _run_of(pairs: Sequence[tuple[int, Record]], log: Log) -> Run:
    return Run([record for _, record in pairs], lambda index: log.line_at(pairs[index][0]))


def _attempt(row: Row, run: Run) -> list[Violation]:
    try:
        return row.judge_some(run)
    except CannotJudge as problem:
        # A value that makes the verifier crash only violates a rule of the policy
        return [Violation(problem.position, problem.why)]
