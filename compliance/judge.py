"""One log against one round: facts, then rules, then findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from logging_spec.read import CRASHING, Fault, LineFault, Log
from rules.checks import PLAIN_JSON, Check, Context
from rules.finding import Finding, Profile, Severity, StatedBy
from rules.round import DIVISIONS, Round, Scope, scope_of
from rules.run import Run
from rules.table import CannotJudge, End, Row, Violation
from rules.virtual import gather_metrics

if TYPE_CHECKING:
    from compliance.facts import Facts

RULE_CRASHED = "internal.rule-crashed"
"""A fault of podium's own: the process ends with the exit status for it."""

MOST_PER_RULE = 20
"""Findings of one rule in one file beyond this many are counted in the last one."""


@dataclass(slots=True)
class LogVerdict:
    """What is known of one log once judged. `minutes` is run_start to run_stop."""

    findings: list[Finding] = field(default_factory=list)
    benchmark: str | None = None
    division: str | None = None
    minutes: float | None = None
    converged: bool | None = None
    crashed: bool = False
    facts: Facts | None = None


@dataclass(slots=True)
class _Broken:
    """A broken rule, before it becomes findings. `row` is the table row, where there is one."""

    id: str
    key: str | None
    violations: list[Violation]
    severity: Severity
    stated_by: StatedBy
    run: Run
    row: Row | None = None
    cites: str = ""
    disputed: bool = False


def judge_log(
    log: Log, rules: Round, profile: Profile, path: str, *, with_facts: bool = False
) -> LogVerdict:
    """All findings about one log; `with_facts` also what the checks of a submission need of it."""
    judgement = _Judgement(log, rules, profile, path)
    verdict = judgement.verdict()
    if with_facts:
        from compliance.facts import gather

        errors = {f.id for f in verdict.findings if f.severity is Severity.ERROR}
        verdict.facts = gather(log, judgement.run, rules, profile, path, errors)
    return verdict


class _Judgement:
    def __init__(self, log: Log, rules: Round, profile: Profile, path: str) -> None:
        self.log, self.rules, self.profile, self.path = log, rules, profile, path
        # The official reader of a round sees one line format only.
        readable = log.generation == rules.generation or log.generation == "none"
        self.run = Run(log.records if readable else [], log.line)
        self.readable = readable
        self.crash = ""
        self.cancelled: list[_Broken] = []
        self.scopes: list[Scope] = []

    def verdict(self) -> LogVerdict:
        verdict = LogVerdict()
        broken = [*self._verifier()]
        if self.profile is Profile.POLICY or not self.rules.verified:
            broken = [*PolicyReading(self).review(broken)]
        verdict.findings = [*self._line_findings(), *self._findings(broken)]
        verdict.crashed = bool(self.crash)
        verdict.division = _name(self.run.value("submission_division"))
        verdict.benchmark = _name(self.rules.named_by(self.run))
        verdict.minutes = self.run.minutes()
        verdict.converged = self._converged(broken)
        return verdict

    # --- as the official verifier ---

    def _verifier(self) -> Iterator[_Broken]:
        """Broken rules by the verifier's reading: the last scope that lists a key decides it."""
        by_key: dict[str, _Broken] = {}
        apart: list[_Broken] = []
        run = self.run
        run.ordered = run.exact = True
        for scope in self._scopes():
            self.scopes.append(scope)
            if by_key:
                for name in scope.keys & by_key.keys():
                    self.cancelled.append(by_key.pop(name))
            for rule, row in scope.verified:
                violations = row.judge(run)
                if violations:
                    found = self.broken(rule, row, violations)
                    if found.key is None:
                        apart.append(found)
                    else:
                        by_key[row.name] = found
                if row.some:
                    apart.extend(self._missed(rule, row))
            for end in scope.ends:
                apart.extend(self._ended(scope, end))
        yield from by_key.values()
        yield from apart

    def _missed(self, rule: str, row: Row) -> Iterator[_Broken]:
        try:
            missed = row.judge_some(self.run)
        except CannotJudge as problem:
            self._crashes(problem.position, problem.why)
            return
        if missed:
            yield self.broken_target(rule, row, missed)

    def broken(self, rule: str, row: Row, violations: list[Violation]) -> _Broken:
        """A broken row; only a warning where all the fault is records that repeat each other."""
        soft = all(violation.repeats for violation in violations)
        severity = Severity.WARNING if soft else Severity.ERROR
        key = None if violations[0].keyless else row.name
        return _Broken(rule, key, violations, severity, row.stated_by, self.run, row, row.cites)

    def broken_target(self, rule: str, row: Row, missed: list[Violation]) -> _Broken:
        """A target that no record reached: the verifier reports it under no key."""
        rule = rule.rpartition(".")[0] + ".target"
        error = Severity.ERROR
        return _Broken(rule, None, missed, error, row.stated_by, self.run, row, row.cites)

    def _ended(self, scope: Scope, end: End) -> Iterator[_Broken]:
        try:
            found = list(end.find(self.run))
        except CannotJudge as problem:
            self._crashes(problem.position, problem.why)
            return
        except TypeError:
            found = [Violation(None, f"{end.text}: what is logged cannot be compared")]
        if found:
            rule = f"{scope.name}.{end.id}"
            error = Severity.ERROR
            yield _Broken(
                rule,
                None,
                found,
                error,
                end.stated_by,
                self.run,
                None,
                end.cites,
                bool(end.disputed),
            )

    def _crashes(self, position: int | None, why: str) -> None:
        if not self.crash and self.rules.verified:
            line = None if position is None else self.run.line(position)
            self.crash = why if line is None else f"line {line}: {why}"

    def _scopes(self) -> Iterator[Scope]:
        run, rules = self.run, self.rules
        division, benchmark = run.value("submission_division"), rules.named_by(run)
        division, name = _text(division), _text(benchmark)
        known = rules.benchmarks.get(name)
        for scope in rules.scopes(division, name):
            if scope.benchmark and known is not None and known.gathers:
                try:
                    gather_metrics(run, known.gathers)
                except CannotJudge as problem:
                    self._crashes(problem.position, problem.why)
            yield scope
            yield from self._chosen(scope)
        self._look_for_rules(division, benchmark, name)

    def _chosen(self, scope: Scope) -> Iterator[Scope]:
        """Scopes that optimizer and scheduler records choose, in the order of those records."""
        selectors = {variant.chosen_by.name: variant for variant in scope.variants}
        places = sorted(i for key in selectors for i in self.run.where.get(key, ()))
        for index in places:
            record = self.run.records[index]
            value = record.value
            selector = selectors[record.key]
            for variant in scope.variants:
                if variant.chosen_by_record(record, selector.lower):
                    yield scope_of(f"{scope.name}.{variant.name}", variant.rows)
                    break
            else:
                if selector.required and (isinstance(value, str) or not selector.lower):
                    self._crashes(index, f"it has no rules for {record.key} {value!r}")

    def _look_for_rules(self, division: str, benchmark: Any, name: str) -> None:
        run, rules = self.run, self.rules
        if rules.divided and "submission_division" in run.where and division not in DIVISIONS:
            given = run.value("submission_division")
            self._crashes(None, f"it has no rules for the division {given!r}")
        elif "submission_benchmark" in run.where and (division in DIVISIONS or not rules.divided):
            if not rules.has_rules(division, name):
                self._crashes(None, f"it has no rules for the benchmark {benchmark!r}")

    # --- findings ---

    def _findings(self, broken: Iterable[_Broken]) -> Iterator[Finding]:
        for rule in broken:
            kept = rule.violations[:MOST_PER_RULE]
            more = len(rule.violations) - len(kept)
            for index, violation in enumerate(kept):
                message = violation.message
                if more and index == len(kept) - 1:
                    message += f" (and {more} more like it in this log)"
                yield self._finding(rule, violation, message)
        if self.crash:
            yield self._about_crash(self.crash)

    def _finding(self, rule: _Broken, violation: Violation, message: str) -> Finding:
        line = None if violation.position is None else rule.run.line(violation.position)
        return Finding(
            rule.id,
            Severity.WARNING if violation.repeats else rule.severity,
            self.path,
            line,
            rule.key,
            message,
            violation.expected,
            violation.actual,
            violation.hint,
            rule.cites,
            rule.stated_by,
        )

    def _about_crash(self, why: str) -> Finding:
        return Finding(
            "log.verifier-crash",
            Severity.ERROR,
            self.path,
            None,
            None,
            f"the official verifier ends without a verdict on this log: {why}",
            hint="mend the other findings first",
            stated_by=StatedBy.VERIFIER,
        )

    def _line_findings(self) -> Iterator[Finding]:
        for fault in self.log.faults:
            if fault.kind in CRASHING and self.rules.verified:
                self.crash = (
                    self.crash or f"line {self.log.line_at(fault.position)}: {fault.message}"
                )
            yield self._about_fault(fault)
        if not self.run.records:
            yield self._about_nothing()

    def _about_fault(self, fault: LineFault) -> Finding:
        # A glued line is still read by the verifier, from its last token on.
        error = fault.kind not in (Fault.GLUED, Fault.KEY, Fault.IGNORED)
        return Finding(
            f"log.{fault.kind}",
            Severity.ERROR if error else Severity.WARNING,
            self.path,
            None if fault.position < 0 else self.log.line_at(fault.position),
            None,
            fault.message,
            actual=fault.excerpt or None,
            hint=_FAULT_HINTS[fault.kind],
        )

    def _about_nothing(self) -> Finding:
        held = {
            "none": "it holds no log line at all",
            "mllog": "its lines are in the format of 0.7 and later (:::MLLOG)",
            "mll": "its lines are in the format of 0.6 (:::MLL)",
            "mlpv": "its lines are in the format of 0.5 (:::MLPv0.5.0)",
            "alibaba": "its lines are in a format no round accepts (MLPerf: …)",
        }[self.log.generation]
        if self.readable and self.log.generation != "none":
            held = "none of its lines can be read"
        return Finding(
            "log.no-records",
            Severity.ERROR,
            self.path,
            None,
            None,
            f"{self.rules.title} finds no record in this file: {held}",
            expected="the log lines of one run",
            hint="check that this is the log of a run, and that --round names its round",
        )

    def _converged(self, broken: Iterable[_Broken]) -> bool | None:
        if not self.run.records:
            return None
        missed = any(
            rule.id.endswith(".target") and rule.severity is Severity.ERROR for rule in broken
        )
        return self.rules.succeeded(self.run) and not missed


_FAULT_HINTS = {
    Fault.JSON: "write each record as one line of JSON after the token, from one process",
    Fault.OBJECT: "write each record as a JSON object with key, value, time_ms and metadata",
    Fault.MISSING: "give every record key, value, time_ms and metadata",
    Fault.TIME: "give time_ms as integer milliseconds since 1970",
    Fault.KEY: "give the key as a string",
    Fault.GLUED: "end each record with a line end before the next is written",
    Fault.DIALECT: "write the record as JSON, as the round's format demands",
    Fault.IGNORED: "give every record a value, null where there is none",
    Fault.LONG: "keep each record well below a mebibyte",
    Fault.UNREADABLE: "check the path and its permissions",
    Fault.COMPRESSED: "compress the log again from the original",
}


class PolicyReading:
    """The same run by the written policy: order free, floats compared within a relative 1e-9.

    What both texts demand stays an error. What only the policy demands is a warning, since the
    policy itself says that the official verifier prevails; so is what only the verifier rejects.
    In a round without a verifier the policy's demands are errors.
    """

    def __init__(self, judgement: _Judgement) -> None:
        self.judgement = judgement
        self.rules = judgement.rules
        self.run = self._tolerant_run()
        self.context = Context(
            self.rules,
            _text(self.run.value("submission_division")),
            self.rules.benchmarks.get(_text(self.rules.named_by(self.run))),
        )

    def _tolerant_run(self) -> Run:
        judgement = self.judgement
        run = judgement.run
        if judgement.log.lenient and judgement.readable:
            numbered = judgement.log.all_records()
            lines = [line for line, _ in numbered]
            run = Run([record for _, record in numbered], lines.__getitem__)
        elif judgement.log.places is None:
            run.memo[PLAIN_JSON] = True
        run.ordered = run.exact = False
        return run

    def review(self, broken: list[_Broken]) -> Iterator[_Broken]:
        """What the verifier found, weighed by the policy, and what the policy adds."""
        own = {rule: row for scope in self.judgement.scopes for rule, row in scope.policy}
        seen = set()
        for found in broken:
            seen.add(found.id)
            yield from self._weigh(found)
        for rule, row in own.items():
            if rule not in seen and row.judge(self.run):
                yield self._stated(rule, row, row.judge(self.run))
            target = rule.rpartition(".")[0] + ".target"
            if target not in seen and row.some:
                missed = _attempt(row, self.run)
                if missed:
                    yield self._stated(target, row, missed, key=None)
        yield from self._dropped()
        yield from self._checks()

    def _weigh(self, rule: _Broken) -> Iterator[_Broken]:
        row = rule.row
        if rule.severity is Severity.ERROR and (rule.disputed or (row and row.disputed)):
            yield replace(rule, severity=Severity.WARNING, stated_by=StatedBy.VERIFIER)
            return
        if row is None or rule.severity is not Severity.ERROR:
            yield rule
            return
        policy = row.as_policy()
        if rule.id.endswith(".target"):
            left = _attempt(policy, self.run)
        else:
            left = policy.judge(self.run)
        if left:
            both = replace(rule, violations=left, run=self.run)
            yield (
                both
                if row.policy is None
                else replace(both, violations=rule.violations, run=rule.run)
            )
        else:
            yield replace(rule, severity=Severity.WARNING, stated_by=StatedBy.VERIFIER)

    def _stated(
        self, rule: str, row: Row, violations: list[Violation], key: str | None = ""
    ) -> _Broken:
        severity = Severity.WARNING if self.rules.verified else Severity.ERROR
        name = row.name if key == "" else key
        return _Broken(rule, name, violations, severity, StatedBy.POLICY, self.run, row, row.cites)

    def _dropped(self) -> Iterator[_Broken]:
        """Values an outer table rejects, where an inner row names the key and says nothing of it."""
        last = {row.name: row for scope in self.judgement.scopes for row in scope.rows}
        for rule in self.judgement.cancelled:
            row = last.get(rule.key or "")
            values = [v for v in rule.violations if v.position is not None and not v.repeats]
            if row is not None and not row.each and values and rule.row is not None:
                again = [v for v in rule.row.judge(self.run) if v.position is not None]
                if again and not any(v.repeats for v in again):
                    yield self._stated(rule.id, rule.row, again)

    def _checks(self) -> Iterator[_Broken]:
        if not self.run.records:
            return
        for rule in self.rules.checks:
            if rule.divisions and not rule.applies(self.context):
                continue
            try:
                violations = list(rule.find(self.run, self.context))
            except Exception as error:  # a crashing rule must not hide what the others find
                yield self._crashed(rule, error)
                continue
            if violations:
                yield _Broken(
                    rule.id,
                    rule.key,
                    violations,
                    rule.severity,
                    rule.stated_by,
                    self.run,
                    None,
                    rule.cites,
                )

    def _crashed(self, rule: Check, error: Exception) -> _Broken:
        told = Violation(
            None,
            f"podium's own rule {rule.id} failed on this log: {type(error).__name__}: {error}",
            hint="please report this, with the log if you may share it",
        )
        return _Broken(RULE_CRASHED, None, [told], Severity.ERROR, StatedBy.POLICY, self.run)


def _attempt(row: Row, run: Run) -> list[Violation]:
    try:
        return row.judge_some(run)
    except CannotJudge as problem:
        return [Violation(problem.position, problem.why)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) else None
