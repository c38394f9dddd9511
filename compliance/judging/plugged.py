"""Plug-ins, which check the same logs in separate processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from podium.compliance.judging.files import Task, worth_spreading
from podium.compliance.judging.options import Options
from podium.compliance.judging.plugins.installed import installed
from podium.compliance.reporting.data import PluginEntry
from podium.rules.finding import Finding, Profile


class FoundByPlugins(NamedTuple):
    """The plug-ins that were used, and their findings by the path of the log in a report."""

    entries: Sequence[PluginEntry] = ()
    findings: Mapping[str, Sequence[Finding]] = {}


def judge_by_plugins(tasks: Sequence[Task], options: Options) -> FoundByPlugins:
    """Have plug-ins check the logs among some tasks.

    The verifier profile uses none: its verdict is the official program's.
    """
    # No link out of a submission is followed
    logs = [task for task in tasks if task.kind == "log" and not task.leads_out]
    if not logs or not options.plugins or options.profile is Profile.VERIFIER:
        return FoundByPlugins()
    plugins = installed()
    if not plugins:
        return FoundByPlugins()
    from podium.compliance.judging.plugins.messages import Job
    from podium.compliance.judging.plugins.taking_part import judged_by

    jobs = [Job(task.path, task.display_path, task.usage, task.round) for task in logs]
    outcome = judged_by(plugins, jobs, worth_spreading(logs, options.jobs))
    findings = outcome.findings
    if options.waivers:
        from podium.compliance.judging.waivers.suppressions import Suppressions

        findings = Suppressions(options.waivers).mark(findings)
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    return FoundByPlugins(outcome.entries, by_path)
