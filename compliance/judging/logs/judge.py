"""The check of one log against one round: facts, then rules, then findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.logs.advice import advised, mark_named
from podium.compliance.judging.logs.broken_rule import RuleViolation, text_of
from podium.compliance.judging.logs.consequences import causes_in, mark_consequences
from podium.compliance.judging.logs.contents import contents_of, other_encoding
from podium.compliance.judging.logs.log_rules import (
    COLOR_CODES,
    CUT_OUT,
    ENCODING,
    NO_RECORDS,
    RECORDS_ONLY,
    RULE_OF_FAULT,
    VERIFIER_CRASH,
)
from podium.compliance.judging.logs.policy import PolicyReading
from podium.compliance.judging.logs.verifier import VerifierReading
from podium.logging_spec.reader.read import CRASHING, Fault, LineFault, Log
from podium.rules.checks.evaluation import leaves_out, off_schedule
from podium.rules.finding import Finding, Profile, Severity, StatedBy
from podium.rules.hindsight import in_hindsight
from podium.rules.model.round import Round
from podium.rules.table import Violation

if TYPE_CHECKING:
    from podium.compliance.judging.logs.facts import Facts
    from podium.rules.checks import Check

MOST_PER_RULE = 20
"""Findings of one rule in one file beyond this number are only counted, in the last finding."""


class LogVerdict(msgspec.Struct):
    """The verdict on one log. `minutes` is the time from run_start to run_stop.

    `extra` are findings of rules that the round does not have; they do not affect anything else.
    `official` is the official verifier's verdict in addition to the policy's: its errors and its
    facts, None in a round that has no verifier.
    """

    findings: list[Finding] = msgspec.field(default_factory=list)
    benchmark: str | None = None
    division: str | None = None
    minutes: float | None = None
    converged: bool | None = None
    facts: Facts | None = None
    extra: list[Finding] = msgspec.field(default_factory=list)
    official: LogVerdict | None = None


def judge_log(
    log: Log,
    rules: Round,
    profile: Profile,
    path: str,
    *,
    with_facts: bool = False,
    with_trace: bool = False,
    extra_checks: tuple[Check, ...] = (),
) -> LogVerdict:
    """The verdict on one log.

    `with_facts` adds the facts that the checks of a submission need. `with_trace` adds the data
    that a review compares to the facts. `extra_checks` are checks that the round does not have.
    """
    judgement = _Judgement(log, rules, profile, path)
    verdict = judgement.verdict()
    if profile is Profile.POLICY and rules.package.framework_logs and _holds_records_only(log):
        verdict.findings.append(RECORDS_ONLY.found(profile, path))
    official = verdict.official
    if with_facts:
        # A check of single logs does not need them
        from podium.compliance.judging.logs.facts import as_official, gather

        verdict.facts = gather(
            log, judgement.run, rules, profile, path, _errors(verdict), with_trace=with_trace
        )
        if verdict.findings:
            verdict.facts.leaves_out = judgement.leaves_out(verdict.findings)
        if profile is Profile.POLICY and verdict.facts.broken:
            from podium.compliance.judging.logs.unfinished import unfinished

            verdict.facts.unfinished = unfinished(judgement.run, verdict.findings)
        if official is not None:
            official.facts = as_official(verdict.facts, judgement.run, rules, _errors(official))
    if extra_checks:
        verdict.extra = judgement.found_by(extra_checks)
    return verdict


def _holds_records_only(log: Log) -> bool:
    """Whether every line of a log is a record, valid or not."""
    return 0 < log.line_count <= len(log.records) + len(log.lenient) + len(log.faults)


def _errors(verdict: LogVerdict) -> set[str]:
    return {finding.id for finding in verdict.findings if finding.severity is Severity.ERROR}


def load_facts(profile: Profile) -> None:
    """Import the modules for the facts of logs, so that processes forked later have them."""
    import podium.compliance.judging.logs.facts

    if profile is Profile.POLICY:
        import podium.compliance.judging.repository.secrets  # noqa: F401 - only loaded


class _Judgement:
    def __init__(self, log: Log, rules: Round, profile: Profile, path: str) -> None:
        self.log, self.rules, self.profile, self.path = log, rules, profile, path
        self.verifier = VerifierReading(log, rules)
        self.run = self.verifier.run

    @cached_property
    def policy(self) -> PolicyReading:
        """The policy's reading of the run, made after the verifier's."""
        return PolicyReading(self.verifier)

    def verdict(self) -> LogVerdict:
        verdict = LogVerdict()
        official_rules = broken_rules = [*self.verifier.review()]
        if self.profile is Profile.POLICY or not self.rules.verified:
            policy = self.policy
            own_rules = policy.found_by(policy.context.checks)
            broken_rules = [*advised([*policy.review(official_rules), *own_rules], self.verifier)]
        # Lines first: they may make the verifier crash, which `_about_crash` reports
        lines = [*self._line_findings()]
        findings = [*self._findings(broken_rules), *self._about_crash(self.profile)]
        if lines:
            findings = [*_weighed(lines, findings), *findings]
        if findings:
            findings = mark_named(in_hindsight(findings, self.rules, self.profile))
            repeated = {rule.id for rule in broken_rules if all(v.repeats for v in rule.violations)}
            unread_rules = {rule.id for rule in broken_rules if rule.unread}
            causes = causes_in(self.log, repeated, unread_rules)
            verdict.findings = mark_consequences(findings, causes)
        verdict.official = self._official(lines, official_rules)
        verdict.division = text_of(self.run.value("submission_division")) or None
        # The benchmark whose rules apply to the log
        verdict.benchmark = text_of(self.rules.named_by(self.run)) or None
        if self.profile is Profile.POLICY and self.verifier.misnamed:
            verdict.benchmark = self.verifier.known_as or verdict.benchmark
        verdict.minutes = self.run.minutes()
        verdict.converged = self._converged(broken_rules)
        return verdict

    def found_by(self, checks: tuple[Check, ...]) -> list[Finding]:
        """The findings of checks that the round does not have, in the policy's reading."""
        applying = tuple(check for check in checks if check.applies(self.policy.context))
        return [*self._findings(self.policy.found_by(applying))]

    def leaves_out(self, findings: Iterable[Finding]) -> bool:
        """Whether the run omits an evaluation, if a finding says that one is off schedule."""
        if all(finding.id != off_schedule.id for finding in findings):
            return False
        return leaves_out(self.policy.run, self.policy.context)

    def _official(
        self, lines: Iterable[Finding], official_rules: Iterable[RuleViolation]
    ) -> LogVerdict | None:
        """The official verifier's errors; findings about lines are the same for both."""
        if self.profile is Profile.VERIFIER or not self.rules.verified:
            return None
        errors = [rule for rule in official_rules if rule.severity is Severity.ERROR]
        # The official reader ignores lines without a token
        lines = [finding for finding in lines if finding.stated_by is not StatedBy.PODIUM]
        findings = [*lines, *self._findings(errors), *self._about_crash(Profile.VERIFIER)]
        return LogVerdict([finding for finding in findings if finding.severity is Severity.ERROR])

    def _findings(self, broken_rules: Iterable[RuleViolation]) -> Iterator[Finding]:
        for rule in broken_rules:
            for violation, suffix in few(rule.violations):
                yield self._finding(rule, violation, violation.message + suffix)

    def _finding(self, rule: RuleViolation, violation: Violation, message: str) -> Finding:
        line = None if violation.position is None else rule.run.line(violation.position)
        return Finding(
            rule.id,
            self._repeated() if violation.repeats else rule.severity,
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

    def _repeated(self) -> Severity:
        """The severity of a repeated value: the verifier only warns if the ranks agree."""
        return Severity.NOTE if self.profile is Profile.POLICY else Severity.WARNING

    def _about_crash(self, profile: Profile) -> Iterator[Finding]:
        if not self.verifier.crash:
            return
        # If the verifier has no rules for an older name, or for a benchmark of the round, the log
        # is not wrong
        is_known = bool(self.verifier.known_as) and not self.verifier.misnamed
        is_excused = (is_known or self.verifier.lacks_rules) and profile is Profile.POLICY
        yield VERIFIER_CRASH.found(
            profile,
            self.path,
            severity=Severity.WARNING if is_excused else None,
            remark="; this is not an error in the log" if is_excused else "",
            reason=self.verifier.crash,
        )

    def _line_findings(self) -> Iterator[Finding]:
        crashing = next((fault for fault in self.log.faults if fault.kind in CRASHING), None)
        if crashing is not None:
            line_number = self.log.line_at(crashing.position)
            self.verifier.crashes(None, f"line {line_number}: {crashing.message}")
        if self.log.faults:
            yield from self._about_lines(self.log.faults)
        yield from self._about_encoding()
        if not self.run.records:
            yield self._about_nothing()

    def _about_encoding(self) -> Iterator[Finding]:
        if encoding := other_encoding(self.log):
            yield ENCODING.found(
                self.profile, self.path, problem=encoding.problem, fix=encoding.fix
            )

    def _about_lines(self, faults: Iterable[LineFault]) -> Iterator[Finding]:
        """One finding for each cause, for any number of lines."""
        by_cause: dict[tuple[object, str], list[LineFault]] = {}
        for fault in faults:
            by_cause.setdefault(_cause_of(fault), []).append(fault)
        for group in by_cause.values():
            # The verifier ignores such lines; without records they show why there are none
            if not group[0].is_stray or self.profile is Profile.POLICY or not self.run.records:
                yield self._about_faults(group)

    def _about_faults(self, faults: Sequence[LineFault]) -> Finding:
        """One finding for all lines with one cause: at the first line, with their number."""
        lines = [self.log.line_of(fault) or 0 for fault in faults]
        line = min(lines)
        first = faults[lines.index(line)]
        rule, remark = RULE_OF_FAULT[first.kind], ""
        if len(faults) > 1:
            remark = f" ({len(faults)} such lines, from line {line} to line {max(lines)})"
        stray = rule is COLOR_CODES and first.is_stray
        return rule.found(
            self.profile,
            self.path,
            line=line or None,
            remark=remark,
            stated_by=StatedBy.PODIUM if stray else None,
            severity=Severity.ERROR if stray else None,
            problem=first.message,
            excerpt=first.excerpt or None,
        )

    def _about_nothing(self) -> Finding:
        contents = contents_of(self.log, readable=self.verifier.readable)
        title = self.rules.title
        return NO_RECORDS.found(self.profile, self.path, round=title, contents=contents)

    def _converged(self, broken_rules: Iterable[RuleViolation]) -> bool | None:
        if not self.run.records:
            return None
        # A target that is missed in only one profile's reading is a warning, and counts as reached
        missed_target = any(
            rule.id.endswith(".target") and rule.severity is Severity.ERROR for rule in broken_rules
        )
        return self.rules.succeeded(self.run) and not missed_target


def _cause_of(fault: LineFault) -> tuple[object, str]:
    """A key for the cause of a line's fault; each set of missing fields is a separate cause."""
    rule = RULE_OF_FAULT[fault.kind]
    return rule.id, fault.message if fault.kind is Fault.MISSING else str(fault.is_stray)


def _weighed(lines: Sequence[Finding], others: Sequence[Finding]) -> Iterator[Finding]:
    """The findings about lines; a mark of omitted lines is as severe as what it explains."""
    severities = {finding.severity for finding in others}
    has_gaps = any(finding.id.startswith(_OF_GAPS) for finding in others)
    for finding in lines:
        if finding.id == CUT_OUT.id and Severity.ERROR not in severities:
            is_cause = has_gaps and Severity.WARNING in severities
            finding = replace(finding, severity=Severity.WARNING if is_cause else Severity.NOTE)
        yield finding


_OF_GAPS = ("evaluation.", "pairing.", "progress.")
"""Groups of checks that missing records violate."""


_T = TypeVar("_T")


def few(items: Sequence[_T]) -> Iterator[tuple[_T, str]]:
    """The first findings of one rule, each with the end of its message."""
    first_items = items[:MOST_PER_RULE]
    omitted = len(items) - len(first_items)
    for index, item in enumerate(first_items, 1):
        last = omitted and index == len(first_items)
        yield item, f" (and {omitted} more in this log)" if last else ""
