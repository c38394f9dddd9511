"""Plug-ins in a report: the findings of their rules in the logs, and the plug-ins that were used.

`tried` runs the rules of one plug-in on their own examples.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from podium.compliance.judging.plugins.hosting import Outcome, run
from podium.compliance.judging.plugins.installed import RULES, Plugin
from podium.compliance.judging.plugins.judging import example, judge
from podium.compliance.judging.plugins.loading import Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import Answered, Job, PluginFinding, RuleData, Tried
from podium.compliance.reporting.data import PluginEntry
from podium.rules.catalogue import find_round
from podium.rules.checks import Check
from podium.rules.finding import Finding, StatedBy
from podium.rules.model.round import Round


class PluginFindings(NamedTuple):
    """The plug-ins that were used or failed, and their findings."""

    entries: list[PluginEntry]
    findings: list[Finding]


def judged_by(plugins: Sequence[Plugin], jobs: Sequence[Job], processes: int = 1) -> PluginFindings:
    """Have the plug-ins with rules check some logs."""
    entries, findings = [], []
    for plugin in plugins:
        if not plugin.problem and not any(group == RULES for group, _ in plugin.entries):
            continue
        outcome = run(plugin, _judged, jobs, processes, _size)
        new_findings = [*_findings(outcome, jobs)]
        findings += new_findings
        entries.append(entry_of(outcome, len(new_findings)))
    return PluginFindings(entries, findings)


def entry_of(outcome: Outcome, findings: int = 0) -> PluginEntry:
    """The entry of a plug-in in a report."""
    plugin = outcome.plugin
    return PluginEntry(
        name=plugin.name,
        version=plugin.version,
        distribution=plugin.distribution,
        state="failed" if outcome.why else "loaded",
        why=outcome.why,
        rules=len(outcome.loaded.rules),
        findings=findings,
    )


def described(plugins: Sequence[Plugin]) -> list[Outcome]:
    """The extensions of each plug-in, or the reason why it cannot be loaded."""
    return [run(plugin, _judged) for plugin in plugins]


def _judged(parts: Parts, job: Job) -> Answered:
    return Answered(found=judge(parts.checks, job))


def _size(job: Job) -> int:
    try:
        return os.stat(job.path).st_size
    except OSError:
        return 0


def _findings(outcome: Outcome, jobs: Sequence[Job]) -> list[Finding]:
    rules = {rule.id: rule for rule in outcome.loaded.rules}
    return [
        _finding(rules[finding.rule], jobs[number].display_path, finding)
        for number, answer in sorted(outcome.answers.items())
        for finding in answer.found
        if finding.rule in rules
    ]


def _finding(rule: RuleData, path: str, finding: PluginFinding) -> Finding:
    return Finding(
        id=rule.id,
        severity=rule.severity,
        path=path,
        line=finding.line,
        key=rule.key,
        message=finding.message,
        expected=finding.expected,
        actual=finding.actual,
        hint=finding.hint,
        cites=rule.cites,
        stated_by=StatedBy.PLUGIN,
    )


def tried(plugin: Plugin, usage: str, round_: str) -> tuple[tuple[Tried, ...], str]:
    """Each rule of a plug-in, tried with its examples and the limits of a round.

    The string is the reason of the plug-in's failure, or empty.
    """
    outcome = run(plugin, _try_all, [(usage, round_)])
    if outcome.why:
        return (), outcome.why
    return outcome.answers[0].tried, ""


def _try_all(parts: Parts, job: tuple[str, str]) -> Answered:
    rules = find_round(*job)
    results = (Tried(check.id, tuple(_problems(check, rules))) for check in parts.checks.values())
    return Answered(tried=tuple(results))


def _problems(check: Check, rules: Round) -> Iterator[str]:
    if check.says.endswith("."):
        yield "`says` ends with a period; expected a clause without one"
    if not check.why:
        yield "the function has no docstring; expected the reason for the rule"
    if not check.cites:
        yield "`cites` is empty; expected the text that states the rule"
    try:
        yield from _of_examples(check, rules)
    except Misbehaviour as error:
        yield str(error)


def _of_examples(check: Check, rules: Round) -> Iterator[str]:
    if not check.bad or not check.good:
        yield "an example is missing; expected a `bad` and a `good` excerpt of a log"
    violations = example(check, check.bad, rules) if check.bad else []
    if check.bad and not violations:
        yield "finds nothing in its bad example; expected a violation"
    if check.good and (false_alarms := example(check, check.good, rules)):
        yield f"finds a violation in its good example ({false_alarms[0].message}); expected none"
    for violation in violations[:1]:
        if "; must " not in violation.message:
            yield f"its message is {violation.message!r}; expected the value found, then `; must …`"
        if not violation.hint:
            yield "its violation has no hint; expected the fix"
