"""One log against one round: facts, then rules, then findings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import msgspec

from podium.compliance.logs.broken_rule import RuleViolation, text_of
from podium.compliance.logs.log_rules import NO_RECORDS, RULE_OF_FAULT, VERIFIER_CRASH
from podium.compliance.logs.policy import PolicyReading
from podium.compliance.logs.verifier import VerifierReading
from podium.logging_spec.reader.read import CRASHING, Fault, LineFault, Log
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.hindsight import in_hindsight
from podium.rules.model.round import Round
from podium.rules.table import Violation

if TYPE_CHECKING:
    from podium.compliance.logs.facts import Facts

MOST_PER_RULE = 20
"""Findings of one rule in one file beyond this many are counted in the last one."""


class LogVerdict(msgspec.Struct):
    """What is known of one log once judged. `minutes` is run_start to run_stop."""

    findings: list[Finding] = msgspec.field(default_factory=list)
    benchmark: str | None = None
    division: str | None = None
    minutes: float | None = None
    converged: bool | None = None
    facts: Facts | None = None


def judge_log(
    log: Log,
    rules: Round,
    profile: Profile,
    path: str,
    *,
    with_facts: bool = False,
) -> LogVerdict:
    """All findings about one log; `with_facts` also what the checks of a submission need of it."""
    judgement = _Judgement(log, rules, profile, path)
    verdict = judgement.verdict()
    if with_facts:
        errors = {f.id for f in verdict.findings if f.severity is Severity.ERROR}
        gather = _gather()
        verdict.facts = gather(log, judgement.run, rules, profile, path, errors)
    return verdict


def load_facts(profile: Profile) -> None:
    """Load what the facts of logs need: processes forked later have it then."""
    _gather()
    if profile is Profile.POLICY:
        from podium.compliance.logs.facts import secrets_finder

        secrets_finder()


@cache
def _gather() -> Callable[..., Facts]:
    from podium.compliance.logs.facts import gather  # logs alone need not wait for it to load

    return gather


class _Judgement:
    def __init__(self, log: Log, rules: Round, profile: Profile, path: str) -> None:
        self.log, self.rules, self.profile, self.path = log, rules, profile, path
        self.verifier = VerifierReading(log, rules)
        self.run = self.verifier.run

    def verdict(self) -> LogVerdict:
        verdict = LogVerdict()
        broken = [*self.verifier.review()]
        if self.profile is Profile.POLICY or not self.rules.verified:
            broken = [*PolicyReading(self.verifier).review(broken)]
        # Lines first: they may be what the verifier crashes on, which `_findings` reports
        findings = [*self._line_findings(), *self._findings(broken)]
        verdict.findings = in_hindsight(findings, self.rules, self.profile)
        verdict.division = text_of(self.run.value("submission_division")) or None
        verdict.benchmark = text_of(self.rules.named_by(self.run)) or None
        verdict.minutes = self.run.minutes()
        verdict.converged = self._converged(broken)
        return verdict

    def _findings(self, broken: Iterable[RuleViolation]) -> Iterator[Finding]:
        for rule in broken:
            for violation, more in _few(rule.violations):
                yield self._finding(rule, violation, violation.message + more)
        if self.verifier.crash:
            yield self._about_crash(self.verifier.crash)

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
        """The weight of a value logged again: of ranks that agree the verifier only warns, too."""
        return Severity.NOTE if self.profile is Profile.POLICY else Severity.WARNING

    def _about_crash(self, why: str) -> Finding:
        # That the verifier has no rules for an older name, or for a benchmark that its own round
        # has, is no fault of the log
        excused = self.verifier.known_as or self.verifier.lacks_rules
        excused = excused and self.profile is Profile.POLICY
        return VERIFIER_CRASH.found(
            self.profile,
            self.path,
            severity=Severity.WARNING if excused else None,
            remark="; that is no fault of the log" if excused else "",
            reason=why,
        )

    def _line_findings(self) -> Iterator[Finding]:
        crashing = next((fault for fault in self.log.faults if fault.kind in CRASHING), None)
        if crashing is not None:
            where = self.log.line_at(crashing.position)
            self.verifier.crashes(None, f"line {where}: {crashing.message}")
        by_kind: dict[Fault, list[LineFault]] = {}
        for fault in self.log.faults:
            by_kind.setdefault(fault.kind, []).append(fault)
        for faults in by_kind.values():
            for fault, more in _few(faults):
                yield self._about_fault(fault, more)
        if not self.run.records:
            yield self._about_nothing()

    def _about_fault(self, fault: LineFault, more: str) -> Finding:
        return RULE_OF_FAULT[fault.kind].found(
            self.profile,
            self.path,
            line=self.log.line_of(fault),
            remark=more,
            problem=fault.message,
            excerpt=fault.excerpt or None,
        )

    def _about_nothing(self) -> Finding:
        contents = _CONTENTS[self.log.generation]
        if self.verifier.readable and self.log.generation != "none":
            contents = "none of its lines can be read"
        title = self.rules.title
        return NO_RECORDS.found(self.profile, self.path, round=title, contents=contents)

    def _converged(self, broken: Iterable[RuleViolation]) -> bool | None:
        if not self.run.records:
            return None
        # A target missed by one text's reading alone is a warning, and counts as reached
        missed = any(
            rule.id.endswith(".target") and rule.severity is Severity.ERROR for rule in broken
        )
        return self.rules.succeeded(self.run) and not missed


_T = TypeVar("_T")


def _few(found: list[_T]) -> Iterator[tuple[_T, str]]:
    """The first of what one rule finds, each with what its message ends in."""
    kept = found[:MOST_PER_RULE]
    more = len(found) - len(kept)
    for index, one in enumerate(kept, 1):
        last = more and index == len(kept)
        yield one, f" (and {more} more like it in this log)" if last else ""


_CONTENTS = {
    "none": "it holds no log line at all",
    "mllog": "its lines are in the format of 0.7 and later (:::MLLOG)",
    "mll": "its lines are in the format of 0.6 (:::MLL)",
    "mlpv": "its lines are in the format of 0.5 (:::MLPv0.5.0)",
    "alibaba": "its lines are in a format no round accepts (MLPerf: …)",
}
"""What a file without records holds, by the format of its lines."""
