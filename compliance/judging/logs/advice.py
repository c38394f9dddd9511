"""Better help for violations, from the other content of the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from podium.compliance.judging.logs.broken_rule import RuleViolation
from podium.compliance.judging.logs.log_rules import VERIFIER_CRASH
from podium.compliance.judging.logs.verifier import VerifierReading
from podium.logging_spec.keys.near_misses import near_misses
from podium.rules.benchmark_names import advice_on
from podium.rules.consequences import FIRST_RECORD
from podium.rules.constraints.formula import show_logged
from podium.rules.finding import Finding, Severity, StatedBy
from podium.rules.table import Violation

BENCHMARK = "submission_benchmark"
END = "run_stop"
START = "init_start"
MISSPELT = "log.misspelt-key"

_BEGINNING = frozenset((START, "submission_division", "cache_clear"))
"""Keys of which each log has some: if it has none, its beginning is missing."""


def advised(
    broken_rules: Iterable[RuleViolation], verifier: VerifierReading
) -> Iterator[RuleViolation]:
    """The violations, some with help that names the probable error in the log."""
    broken_rules = [*broken_rules]
    absent_keys = [rule.key for rule in broken_rules if rule.key and _is_absent(rule)]
    hints = _about_absences(absent_keys, verifier) if absent_keys else {}
    for rule in broken_rules:
        hint = hints.get(rule.key or "") if _is_absent(rule) else ""
        if hint:
            violations = [replace(violation, hint=hint) for violation in rule.violations]
            rule = replace(rule, violations=violations)
        elif rule.key == BENCHMARK and rule.severity is Severity.ERROR:
            advise = partial(_about_name, verifier=verifier)
            rule = replace(rule, violations=[*map(advise, rule.violations)])
        elif rule.stated_by is StatedBy.VERIFIER and rule.severity is Severity.WARNING:
            rule = replace(rule, violations=[*map(_about_rounding, rule.violations)])
        yield rule


def _about_absences(absent_keys: Sequence[str], verifier: VerifierReading) -> dict[str, str]:
    """The help for each key that is not logged, if the log shows why."""
    run = verifier.run
    hints = {}
    if run.records:
        last = len(run.records) - 1
        hints[END] = (
            f"the last record is {run.records[last].key} in line {run.line(last)}: copy the "
            "complete log of the run; if the run itself was interrupted, repeat it"
        )
        if _BEGINNING.issubset(absent_keys):
            first = f"{FIRST_RECORD}{run.records[0].key} in line {run.line(0)}"
            hints[START] = f"{first}: copy the complete log"
    for key in absent_keys:
        if line := _without_token(key, verifier.log.data):
            hints[key] = f"line {line} has its record without the token: add `:::MLLOG ` before it"
    for name, key in near_misses([*run.where], absent_keys).items():
        hints[key] = f"line {run.line(run.where[name][0])} logs {name}: log it as {key}"
    return hints


def mark_named(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; findings that follow from a wrong name are marked.

    The finding about a misspelled key follows from the finding that the right key is missing. A
    crash because of missing rules follows from the finding about the benchmark's name.
    """
    findings = _about_metadata(findings)
    errors = {finding.key: finding.id for finding in findings if finding.severity is Severity.ERROR}
    causes = {id(finding): errors.get(_key_at_fault(finding), "") for finding in findings}
    return [
        replace(finding, caused_by=causes[id(finding)])
        if causes[id(finding)] and not finding.caused_by
        else finding
        for finding in findings
    ]


def _about_metadata(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; of those about members that metadata lacks, the first with one cause leads.

    The cause is a misspelled member, or else the same metadata, such as none. The help names the
    misspelled member.
    """
    leaders: dict[object, str] = {}
    marked = []
    for finding in findings:
        if finding.expected.startswith(_WITH) and isinstance(finding.actual, list):
            names = finding.expected.removeprefix(_WITH).split(" or ")
            members = [name for name in finding.actual if name not in _SOURCE]
            misspelled = near_misses(members, names)
            for name, meant in misspelled.items():
                hint = f"rename {name} to {meant} in the metadata of {finding.key}"
                finding = replace(finding, hint=hint)
            cause = next(iter(misspelled), tuple(members))
            if finding.severity is Severity.ERROR:
                leader = leaders.setdefault(cause, finding.id)
                finding = finding if leader == finding.id else replace(finding, caused_by=leader)
        marked.append(finding)
    return marked


_WITH = "metadata with "
_SOURCE = ("file", "lineno")
"""Members that the logging library adds to all metadata."""


def _key_at_fault(finding: Finding) -> str:
    """The key whose finding is the cause of a finding; empty if there is none."""
    if finding.id == MISSPELT:
        return finding.expected
    is_crash = finding.id == VERIFIER_CRASH.id and "no rules for the benchmark" in finding.message
    return BENCHMARK if is_crash else ""


def _about_name(violation: Violation, verifier: VerifierReading) -> Violation:
    """The violation; for a name that the round does not have, it suggests the right name."""
    name, rules = violation.actual, verifier.rules
    if not isinstance(name, str) or name in rules.allowed:
        return violation
    says, known_name = f"{BENCHMARK} is {show_logged(name)}", verifier.known_as
    if known_name:
        advice = f"set {BENCHMARK} to {known_name}; the log is checked as {known_name}"
        return replace(violation, message=f"{says}; expected the name {known_name}", hint=advice)
    remark, advice = advice_on(name, rules)
    says += f", not a benchmark of {rules.title}{remark}"
    return replace(violation, message=says, hint=advice)


def _is_absent(rule: RuleViolation) -> bool:
    return rule.row is not None and all(violation.position is None for violation in rule.violations)


def _without_token(key: str, data: bytes) -> int | None:
    """The line with a record of the key, but without a token; None if there is none."""
    pattern = rb'(?m)^(?=[^\n]*"time_ms")[^\n]*"key": ?"%b"[^\n]*' % re.escape(key.encode())
    for match in re.finditer(pattern, data) if b'"%b"' % key.encode() in data else ():
        if _TOKEN not in match[0]:
            return data.count(b"\n", 0, match.start()) + 1
    return None


_TOKEN = b"MLLOG"


def _about_rounding(violation: Violation) -> Violation:
    """The violation; for a float that only the verifier rejects, the help says why it does.

    The help of the row would be useless: the value that it requires looks like the logged value.
    """
    if not isinstance(violation.actual, float) or " (= " not in violation.expected:
        return violation
    hint = "log the computed product with all digits: the official verifier compares "
    return replace(violation, hint=f"{hint}floats without tolerance")
