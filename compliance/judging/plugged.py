"""Plug-ins beside podium's own rules: they judge the same logs, in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from podium.compliance.judging.files import Task, worth_spreading
from podium.compliance.judging.options import Options
from podium.compliance.judging.plugins.installed import installed
from podium.compliance.reporting.data import PluginEntry
from podium.rules.finding import Finding, Profile


class FoundByPlugins(NamedTuple):
    """Which plug-ins took part, and what they found in each log, by the path of a report."""

    entries: Sequence[PluginEntry] = ()
    findings: Mapping[str, Sequence[Finding]] = {}


def judge_by_plugins(tasks: Sequence[Task], options: Options) -> FoundByPlugins:
    """Have plug-ins judge the logs among some tasks.

    The verifier's profile has none: its verdict is that of the official program.
    """
    # A link out of a submission is not followed, by nobody
    logs = [each for each in tasks if each.kind == "log" and not each.leads_out]
    if not logs or not options.plugins or options.profile is Profile.VERIFIER:
        return FoundByPlugins()
    plugins = installed()
    if not plugins:
        return FoundByPlugins()
    from podium.compliance.judging.plugins.messages import Job
    from podium.compliance.judging.plugins.taking_part import judged_by

    jobs = [Job(each.path, each.display_path, each.usage, each.round) for each in logs]
    found = judged_by(plugins, jobs, worth_spreading(logs, options.jobs))
    findings = found.findings
    if options.waivers:
        from podium.compliance.judging.waivers.suppressions import Suppressions

        findings = Suppressions(options.waivers).mark(findings)
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    return FoundByPlugins(found.entries, by_path)
