"""Plug-ins in a report: what their rules find in the logs judged, and which took part."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from podium.compliance.judging.plugins.hosting import Outcome, run
from podium.compliance.judging.plugins.installed import RULES, Plugin
from podium.compliance.judging.plugins.judging import judge
from podium.compliance.judging.plugins.loading import Parts
from podium.compliance.judging.plugins.messages import Answered, Found, Job, RuleData
from podium.compliance.reporting.data import PluginEntry
from podium.rules.finding import Finding, StatedBy


class PluginFindings(NamedTuple):
    """Which plug-ins took part or failed to, and what they found."""

    entries: list[PluginEntry]
    findings: list[Finding]


def judged_by(plugins: Sequence[Plugin], jobs: Sequence[Job], processes: int = 1) -> PluginFindings:
    """Have the plug-ins that bring rules judge some logs."""
    entries, findings = [], []
    for plugin in plugins:
        if not plugin.problem and not any(group == RULES for group, _ in plugin.entries):
            continue
        outcome = run(plugin, _judged, jobs, processes, _size)
        found = [*_findings(outcome, jobs)]
        findings += found
        entries.append(entry_of(outcome, len(found)))
    return PluginFindings(entries, findings)


def entry_of(outcome: Outcome, findings: int = 0) -> PluginEntry:
    """A plug-in as reports name it."""
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
    """What each plug-in adds, or why it cannot be loaded."""
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
        _finding(rules[each.rule], jobs[number].display_path, each)
        for number, answer in sorted(outcome.answers.items())
        for each in answer.found
        if each.rule in rules
    ]


def _finding(rule: RuleData, path: str, found: Found) -> Finding:
    return Finding(
        id=rule.id,
        severity=rule.severity,
        path=path,
        line=found.line,
        key=rule.key,
        message=found.message,
        expected=found.expected,
        actual=found.actual,
        hint=found.hint,
        cites=rule.cites,
        stated_by=StatedBy.PLUGIN,
    )
