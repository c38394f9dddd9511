"""The last step of a check: one report on all groups of files."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from podium.compliance.judging.discovery import Inputs
from podium.compliance.judging.inputs.discover import SurplusFolders
from podium.compliance.judging.inputs.round_selection import RoundRequest, rules_of
from podium.compliance.judging.judgement import Judgement
from podium.compliance.judging.logs.broken_rule import crashed
from podium.compliance.judging.options import Options
from podium.compliance.judging.waivers.suppressions import Suppressions
from podium.compliance.reporting import conclusion
from podium.compliance.reporting.data import Outcome, PluginEntry, SubmissionEntry
from podium.rules.finding import Finding, Profile


def conclude(
    inputs: Inputs,
    judgements: Sequence[Judgement],
    plugins: Sequence[PluginEntry],
    options: Options,
) -> Outcome:
    """The report: all entries and findings, including findings that need all groups."""
    findings = [
        finding for judgement in judgements for finding in _by_their_round(judgement, options)
    ]
    if inputs.misnamed or inputs.surplus != SurplusFolders():
        findings += _about_folders(inputs, judgements, options.profile)
    for waivers in options.waivers:
        findings += Suppressions(own=waivers).about(findings)
    # Only results have facts that several rules report; loose logs do not
    descriptions = {
        path: description
        for judgement in judgements
        for path, description in judgement.described.items()
    }
    if descriptions and findings:
        from podium.compliance.judging.consequences import mark_consequences

        findings = mark_consequences(findings, descriptions)
    return conclusion.conclude(
        rules_of(inputs.choices, options.profile),
        files=[file for judgement in judgements for file in judgement.files],
        findings=findings,
        submissions=[
            # A submission that is too deep is rejected in any case
            _rejected(entry) if entry.path in inputs.surplus.nested else entry
            for judgement in judgements
            if (entry := judgement.submission)
        ],
        results=[result for judgement in judgements for result in judgement.results],
        unjudged=sorted(path for judgement in judgements for path in judgement.unjudged),
        plugins=plugins,
        not_judged=inputs.not_judged,
        crashed=crashed(findings),
        decision=options.decision,
    )


def _rejected(entry: SubmissionEntry) -> SubmissionEntry:
    official = entry.official_verdict and "rejected"
    return replace(entry, verdict="rejected", official_verdict=official)


def _by_their_round(judgement: Judgement, options: Options) -> Sequence[Finding]:
    """The findings of a group; findings that follow from the rules of a wrong round are marked."""
    failing = any(entry.verdict == "fail" and entry.kind == "log" for entry in judgement.files)
    rounds = {file.round for file in judgement.group.files.values()}
    if options.profile is Profile.VERIFIER or not failing or len(rounds) > 1:
        return judgement.findings
    from podium.compliance.judging.wrong_round import mark_consequences

    package = judgement.group.package
    files = list(judgement.group.files.values())
    choice = RoundRequest(options.usage, options.round).choose(files[0].path)
    display_path = "." if package is None else package.display_path or "."
    return mark_consequences(judgement.findings, files, choice, display_path)


def _about_folders(
    inputs: Inputs, judgements: Sequence[Judgement], profile: Profile
) -> list[Finding]:
    """Findings about loose logs that look like submissions, submissions too deep, and links.

    The official program is started for one submission, and checks nothing else.
    """
    from podium.compliance.judging.submission import layout_rules

    surplus = inputs.surplus
    nested = [layout_rules.nested(folder) for folder in surplus.nested]
    if profile is Profile.VERIFIER:
        return nested
    logs = [
        file.display_path for judgement in judgements for file in judgement.group.files.values()
    ]
    return [
        *(layout_rules.no_systems(folder, logs) for folder in surplus.undescribed),
        *(layout_rules.no_results(folder, logs) for folder in surplus.resultless),
        *nested,
        *map(layout_rules.linked_folder, surplus.linked),
        *map(layout_rules.misnamed_log, inputs.misnamed),
    ]
