"""The entries and findings for groups of checked files: submissions and loose files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from podium.compliance.judging.files import FileVerdict, internal_fault
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.judgement import FileGroup, Judgement, Surroundings
from podium.compliance.judging.logs.judge import LogVerdict
from podium.compliance.judging.options import Options
from podium.compliance.judging.results.official import JudgingContext, deciding, mark_official
from podium.compliance.judging.results.rules.run_rules import UNFINISHED_RUN_DROPPED
from podium.compliance.judging.waivers.suppressions import Suppressions
from podium.compliance.reporting.data import (
    FileEntry,
    ResultEntry,
    SubmissionEntry,
    fails,
    verdict_of,
    verdict_word,
)
from podium.rules.catalogue import find_round
from podium.rules.finding import ADDED_BY_USERS, DROPPED_RUN, Finding, Profile, Severity

if TYPE_CHECKING:
    from podium.compliance.judging.inputs.layout import Tree
    from podium.compliance.judging.submission.judge import SubmissionVerdict
    from podium.compliance.judging.submission.together import RoundState


def judge_submissions(
    groups: Iterable[FileGroup], options: Options, surroundings: Surroundings
) -> list[Judgement]:
    """Check each group as it arrives; an internal error for one submission hides no other.

    Findings about a submission that depend on a later submission are added at the end.
    """
    request = RoundRequest(options.usage, options.round)
    # Copies of runs are searched among the submissions of one round
    rounds: dict[str, RoundState] = {}
    judged: list[Judgement] = []
    for group in groups:
        package, logs = group.package, _LogReports(group, options, surroundings)
        if package is None:
            judged.append(logs.judgement({}))
            continue
        rules = request.choose(package.root).rules
        try:
            if rules.title not in rounds:
                from podium.compliance.judging.submission.together import RoundState

                comparators, contents = surroundings.comparators, surroundings.contents
                rounds[rules.title] = RoundState(comparators=comparators, contents=contents)
            context = JudgingContext(rules, options.profile)
            judged.append(_judge_package(group, package, context, rounds[rules.title], logs))
        except Exception as error:
            judged.append(_failed(package, logs.judgement({}), error))
    later_findings: dict[str, list[Finding]] = {}
    for state in rounds.values():
        later_findings.update(state.seen.later)
    if not later_findings:
        return judged
    return [_with_later(judgement, later_findings, strict=options.strict) for judgement in judged]


def _with_later(
    judgement: Judgement, later_findings: Mapping[str, Sequence[Finding]], *, strict: bool
) -> Judgement:
    """A judgement with the findings that later submissions have revealed."""
    entry = judgement.submission
    package = judgement.group.package
    if entry is None or package is None or not later_findings.get(package.display_path):
        return judgement
    added = judgement.suppressions.mark(later_findings[package.display_path])
    findings = [*judgement.findings, *added]
    return replace(
        judgement,
        findings=findings,
        submission=replace(entry, verdict=verdict_of(_own(findings), strict=strict)),
        results=_with_errors(judgement.results, added),
    )


def _with_errors(
    results: Sequence[ResultEntry], findings: Iterable[Finding]
) -> Sequence[ResultEntry]:
    """The results; those with an error that depends on other results are rejected."""
    paths = {
        finding.path for finding in deciding(findings) if finding.stated_by not in ADDED_BY_USERS
    }
    if not paths:
        return results
    return [
        replace(result, verdict="rejected")
        if any(path == result.path or path.startswith(f"{result.path}/") for path in paths)
        else result
        for result in results
    ]


def _failed(package: Package, files: Judgement, error: Exception) -> Judgement:
    from podium.compliance.judging.inputs.layout import submitter_of

    display_path = package.display_path or "."
    submitter = submitter_of(package.root)
    return replace(
        files,
        findings=[*files.findings, internal_fault(display_path, error)],
        submission=SubmissionEntry(submitter=submitter, path=display_path, verdict="rejected"),
    )


def _judge_package(
    group: FileGroup,
    package: Package,
    context: JudgingContext,
    state: RoundState,
    logs: _LogReports,
) -> Judgement:
    from podium.compliance.judging.inputs.tree_scan import scan
    from podium.compliance.judging.results.summary import result_entry
    from podium.compliance.judging.submission.judge import judge_submission

    tree = scan(package, context.rules, logs.surroundings.disks.get(package.root))
    verdicts = {
        os.path.relpath(path, package.root): file.verdict
        for path, file in group.files.items()
        if file.kind == "log"
    }
    options = logs.options
    suppressions = Suppressions(options.waivers, options.waivers_in_tree)
    verdict = judge_submission(tree, context, verdicts, suppressions, round_state=state)
    counted = {tree.place(path) for folder in tree.results for path in folder.logs}
    standings = _standings(verdict, counted)
    of_logs = logs.judgement(standings, verdict.logs)
    findings = [*verdict.findings, *of_logs.findings]
    return replace(
        of_logs,
        files=[*of_logs.files, *_system_entries(verdict, context)],
        findings=findings,
        submission=None if tree.scope else _entry(tree, findings, context, strict=options.strict),
        results=_with_errors(
            [result_entry(result, strict=options.strict) for result in verdict.results],
            [] if context.quirks.ignores_policy else verdict.findings,
        ),
        unjudged=[tree.place(path) for path in tree.unjudged],
        described=verdict.described,
        suppressions=verdict.suppressions,
    )


def _entry(
    tree: Tree, findings: Sequence[Finding], context: JudgingContext, *, strict: bool
) -> SubmissionEntry:
    own_findings = _own(findings)
    rejected = any(finding.official for finding in own_findings)
    return SubmissionEntry(
        submitter=tree.submitter,
        path=tree.display_path or ".",
        verdict=verdict_of(own_findings, strict=strict),
        official_verdict=verdict_word(rejected) if context.rules.verified else None,
    )


def _own(findings: Iterable[Finding]) -> list[Finding]:
    """The findings of built-in rules; rules of users do not affect the verdict of a submission."""
    return [finding for finding in findings if finding.stated_by not in ADDED_BY_USERS]


def _system_entries(verdict: SubmissionVerdict, context: JudgingContext) -> Iterator[FileEntry]:
    for path, findings in verdict.systems.items():
        passed = official = not fails(findings, strict=False)
        if context.official is not None:
            official = not any(finding.official for finding in findings)
        yield FileEntry(
            path=path,
            kind="system",
            verdict=passes(passed),
            official_verdict=passes(official) if context.rules.verified else None,
        )


# --- logs ---


class Standing(NamedTuple):
    """The effect of a failing log on its result, for the policy and for the verifier."""

    ours: Literal["counted", "tolerated", "apart"]
    official: Literal["counted", "tolerated", "apart"]


COUNTED, APART = Standing("counted", "counted"), Standing("apart", "apart")


def _standings(verdict: SubmissionVerdict, counted: Collection[str]) -> dict[str, Standing]:
    """The standing of each log; logs outside of results have no effect."""
    tolerated = {path for result in verdict.results for path in result.tolerated}
    officially = {
        path for result in verdict.results for path in (result.official or result).tolerated
    }
    return {
        path: Standing(
            "tolerated" if path in tolerated else "counted",
            "tolerated" if path in officially else "counted",
        )
        if path in counted
        else APART
        for path in verdict.logs
    }


class _LogReports(NamedTuple):
    """The entries and findings of the files of one group, each checked separately."""

    group: FileGroup
    options: Options
    surroundings: Surroundings

    def judgement(
        self, standings: Mapping[str, Standing], marked: Mapping[str, LogVerdict] | None = None
    ) -> Judgement:
        """The entries and findings; `marked` are verdicts with the waivers of their tree."""
        files, findings = [], []
        suppressions = Suppressions(self.options.waivers)
        for file in self.group.files.values():
            path, verdict = file.display_path, file.verdict
            if marked and path in marked:
                verdict = marked[path]
            elif suppressions.waivers:
                verdict = replace(verdict, findings=suppressions.mark(verdict.findings))
            # The user's waivers also apply to rules of podium.toml
            extra = [
                *suppressions.mark(verdict.extra),
                *self.surroundings.plugins.get(path, ()),
            ]
            files.append(self._entry(file, [*verdict.findings, *extra]))
            findings += self._findings(file, verdict, extra, standings.get(path, COUNTED))
        return Judgement(self.group, files=files, findings=findings)

    def _entry(self, file: FileVerdict, findings: list[Finding]) -> FileEntry:
        verdict, official = file.verdict, self._official(file)
        return FileEntry(
            path=file.display_path,
            kind=file.kind,
            verdict=passes(not fails(findings, strict=self.options.strict)),
            official_verdict=None if official is None else passes(not deciding(official.findings)),
            benchmark=verdict.benchmark,
            division=verdict.division,
            minutes=verdict.minutes,
            converged=verdict.converged,
            round=file.round if self.surroundings.name_rounds else None,
        )

    def _official(self, file: FileVerdict) -> LogVerdict | None:
        is_verified = self.options.profile is Profile.VERIFIER and file.verified
        return file.verdict if is_verified else file.verdict.official

    def _findings(
        self,
        file: FileVerdict,
        verdict: LogVerdict,
        extra: Sequence[Finding],
        standing: Standing,
    ) -> list[Finding]:
        """The findings as they count: the file fails, but its result may be accepted."""
        findings, official = verdict.findings, self._official(file)
        if official is not None and standing.official == "counted":
            errors = deciding(findings if official is file.verdict else official.findings)
            findings = mark_official(findings, errors, find_round(*file.round.split()))
        findings = [*findings, *extra]
        if standing.ours == "tolerated":
            # Its warnings do not reject, so they need no waiver
            cause = ""
            if verdict.facts is not None and verdict.facts.unfinished is not None:
                cause = UNFINISHED_RUN_DROPPED.id
            return [
                _dropped(finding, cause) if finding.severity == "error" else finding
                for finding in findings
            ]
        if standing.ours == "apart":
            return [_of_no_result(finding) for finding in findings]
        return findings


def _dropped(finding: Finding, cause: str) -> Finding:
    if finding.waived:
        return finding
    return replace(
        finding, waived=True, waived_by=DROPPED_RUN, caused_by=cause or finding.caused_by
    )


def _of_no_result(finding: Finding) -> Finding:
    if finding.severity is not Severity.ERROR:
        return finding
    return replace(finding, severity=Severity.NOTE)


def passes(passed: bool) -> Literal["pass", "fail"]:
    """The verdict on a file."""
    return "pass" if passed else "fail"
