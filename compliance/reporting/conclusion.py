"""The conclusion of a report: the one source of its verdicts, its exit status and its last line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from podium.compliance.reporting.data import (
    FileEntry,
    Judge,
    Outcome,
    PluginEntry,
    ResultEntry,
    Rules,
    SubmissionEntry,
    Tool,
    Verdict,
    counts_of,
    fails,
    verdict_of,
    verdict_word,
)
from podium.rules.finding import Finding, StatedBy

_JUDGES: Mapping[StatedBy, Judge] = {StatedBy.PLUGIN: "plugins", StatedBy.HOUSE: "house"}
"""The judges of rules that are not part of podium."""


class Decision(msgspec.Struct, frozen=True):
    """Which findings decide the exit status.

    `strict`: warnings reject, too. `selected` returns whether the report shows the findings of a
    rule; None if it shows all. `policy_only` ignores the official verifier, `only_selected` all
    findings that the report does not show.
    """

    strict: bool = False
    selected: Callable[[str], bool] | None = None
    policy_only: bool = False
    only_selected: bool = False


def conclude(
    rules: Rules,
    *,
    files: Iterable[FileEntry] = (),
    findings: Iterable[Finding] = (),
    submissions: Iterable[SubmissionEntry] = (),
    results: Iterable[ResultEntry] = (),
    unjudged: Sequence[str] = (),
    plugins: Sequence[PluginEntry] = (),
    not_judged: str = "",
    crashed: bool = False,
    decision: Decision | None = None,
) -> Outcome:
    """Sort and count all parts of a report, and add the verdicts, which depend on all findings.

    `crashed`: podium itself failed on a part of the input.
    """
    decision = decision or Decision()
    files, submissions = list(files), list(submissions)
    # Sorted, so that the number of processes does not change the report
    sorted_findings = sorted(findings, key=Finding.sort_key)
    shown_findings = _shown(sorted_findings, decision)
    rejected_by = _rejected_by(sorted_findings, rules, strict=decision.strict)
    return Outcome(
        tool=Tool(),
        rules=rules,
        verdict=verdict_of(sorted_findings, strict=decision.strict)
        if decision.selected is None
        else "not judged",
        official_verdict=_official_verdict(sorted_findings, [*files, *submissions], rules),
        rejected_by=sorted(rejected_by),
        exit_status=_exit_status(rejected_by, shown_findings, decision, crashed=crashed),
        not_judged=not_judged,
        plugins=plugins,
        counts=counts_of(shown_findings),
        submissions=sorted(submissions, key=lambda entry: entry.path),
        results=sorted(results, key=lambda entry: entry.path),
        unjudged=unjudged,
        files=sorted(files, key=lambda entry: entry.path),
        findings=shown_findings,
    )


def _shown(findings: list[Finding], decision: Decision) -> list[Finding]:
    """The findings of the selected rules; a finding without its cause counts on its own.

    A consequence has no help, because the help of its cause applies.
    """
    selected = decision.selected
    shown_findings = [finding for finding in findings if selected is None or selected(finding.id)]
    ids = {finding.id for finding in shown_findings}
    return [_as_shown(finding, ids) if finding.caused_by else finding for finding in shown_findings]


def _as_shown(finding: Finding, ids: Collection[str]) -> Finding:
    if finding.caused_by in ids:
        return replace(finding, hint="")
    return replace(finding, caused_by="")


def _rejected_by(findings: Sequence[Finding], rules: Rules, *, strict: bool) -> set[Judge]:
    failing = [finding for finding in findings if fails((finding,), strict=strict)]
    rejected_by: set[Judge] = {_JUDGES.get(finding.stated_by, rules.profile) for finding in failing}
    if any(finding.official and not finding.waived for finding in findings):
        rejected_by.add("verifier")
    return rejected_by


def _official_verdict(
    findings: Sequence[Finding],
    entries: Sequence[FileEntry | SubmissionEntry],
    rules: Rules,
) -> Verdict | None:
    if not any(entry.official_verdict for entry in entries):
        return None
    # The official verifier has no waivers; in its profile they are its bypass flags
    is_verifier = rules.profile == "verifier"
    rejected = any(
        finding.official and not (is_verifier and finding.waived) for finding in findings
    )
    return verdict_word(rejected)


def _exit_status(
    rejected_by: set[Judge], findings: Sequence[Finding], decision: Decision, *, crashed: bool
) -> Literal[0, 1, 3]:
    # A fault of podium outranks the verdict: a part of the input was not judged
    if crashed:
        return 3
    if decision.only_selected:
        return 1 if fails(findings, strict=decision.strict) else 0
    return 1 if rejected_by - ({"verifier"} if decision.policy_only else set()) else 0


def headline(report: Outcome) -> str:
    """The last line of a report; it starts with ACCEPTED if and only if the exit status is 0."""
    if report.exit_status == 3:
        return "INTERNAL ERROR: a part of the input was not checked"
    word = "REJECTED" if report.exit_status else "ACCEPTED"
    if report.verdict == "not judged":
        return f"{word} by {'all' if _agrees(report) else 'the selected'} rules"
    if report.exit_status and report.rejected_by == ["verifier"] != [report.rules.profile]:
        return "REJECTED by the official verifier (policy: accepted)"
    if not report.exit_status and report.official_verdict == "rejected":
        return "ACCEPTED by the policy (official verifier: rejected)"
    return word


def _agrees(report: Outcome) -> bool:
    """Whether the exit status is that of all rules."""
    return bool(report.rejected_by) == bool(report.exit_status)
