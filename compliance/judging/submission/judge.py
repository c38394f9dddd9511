"""The check of a whole submission in both profiles, given the verdicts on its logs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.layout import ResultFolder, Tree
from podium.compliance.judging.inputs.source_files import Code
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.logs.judge import LogVerdict
from podium.compliance.judging.logs.log_rules import VERIFIER_CRASH
from podium.compliance.judging.repository.check import check_repository
from podium.compliance.judging.repository.contents import FileReader, without_memory
from podium.compliance.judging.results.judge import judge_result
from podium.compliance.judging.results.location import ResultLocation
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext, deciding, mark_official
from podium.compliance.judging.results.reference_points import judge_reference_points
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.seeds import check_seeds
from podium.compliance.judging.results.throughput import judge_throughput
from podium.compliance.judging.submission.agreement import judge_agreement, judge_divisions
from podium.compliance.judging.submission.documents import judge_documents
from podium.compliance.judging.submission.layout_rules import judge_tree, reported
from podium.compliance.judging.submission.together import RoundState, judge_together
from podium.compliance.judging.systems.check import (
    SystemVerdict,
    describe,
    judge_description,
)
from podium.compliance.judging.systems.reader import (
    line_of,
    read_description,
    unread_description,
)
from podium.compliance.judging.waivers.bypass_flags import BYPASSED_RULES, RCP, SEEDS, Params
from podium.compliance.judging.waivers.suppressions import NOTHING_LEFT_OUT, Suppressions
from podium.compliance.judging.waivers.waivers import WAIVERS_FILE
from podium.rules.finding import DROPPED_RUN, Finding, Severity
from podium.rules.hindsight import in_hindsight

if TYPE_CHECKING:
    from podium.compliance.judging.power.check import PowerVerdict

Verdicts = Mapping[str, LogVerdict]
"""The verdict of each log, by its path relative to the submission."""


class SubmissionVerdict(msgspec.Struct, frozen=True):
    """The verdict on a submission: its findings, except those about its logs, and its results.

    `logs` are the verdicts on its logs, marked with its waivers, by the path that reports show.
    `systems` are the findings about each description, by its path. `described` maps the path of
    each result to the path of its system's description, or "" if it has none. `suppressions` are
    the waivers of the caller and of the submission.
    """

    findings: list[Finding]
    logs: dict[str, LogVerdict]
    results: list[ResultVerdict]
    systems: dict[str, list[Finding]]
    described: dict[str, str]
    suppressions: Suppressions = NOTHING_LEFT_OUT


def judge_submission(
    tree: Tree,
    context: JudgingContext,
    verdicts: Verdicts,
    suppressions: Suppressions = NOTHING_LEFT_OUT,
    *,
    round_state: RoundState | None = None,
) -> SubmissionVerdict:
    """Check one submission, given the verdicts on its logs.

    In the policy profile, each part is also checked as the official verifier checks it, and the
    findings for which the verifier rejects are marked. The verifier has no waivers.
    """
    suppressions, findings = _with_waivers_of(tree, context, suppressions)
    logs = {
        path: replace(verdict, findings=suppressions.mark(verdict.findings))
        for path, verdict in verdicts.items()
    }
    findings += context.judge(
        lambda context: (reported if tree.scope else judge_tree)(tree, context)
    )
    systems = {name: _system(tree, path, name, context) for name, path in tree.systems.items()}
    findings += [finding for verdict in systems.values() for finding in verdict.findings]
    code = Code(tree.root)
    judge = _ResultJudge(tree, context, logs, suppressions, systems, code)
    results = [judge.judge(folder) for folder in tree.results]
    round_state = round_state or RoundState()
    memory = round_state.contents(tree.root) if round_state.contents else None
    reader = FileReader(memory or without_memory)
    findings += _of_results(tree, results, context, round_state, code=code, reader=reader)
    if not tree.scope:
        # After every result has requested its flags
        if suppressions.in_tree:
            findings += context.judge(lambda context: judge.params[context.profile].findings)
        findings += _hygiene(tree, context, logs, reader)
    findings = suppressions.mark(findings)
    findings += [finding for verdict in results for finding in verdict.findings]
    findings = in_hindsight(findings, context.rules, context.profile)
    if context.rules.verified and context.official is None:
        findings = mark_official(findings, findings, context.rules)
    of_logs = [finding for verdict in logs.values() for finding in verdict.findings]
    findings += suppressions.about([*findings, *of_logs])
    return SubmissionVerdict(
        findings=findings,
        logs={tree.place(path): verdict for path, verdict in logs.items()},
        results=results,
        systems={tree.place(path): systems[name].findings for name, path in tree.systems.items()},
        described={
            tree.place(folder.path): tree.place(path) if path else ""
            for folder, path in ((f, tree.systems.get(f.system)) for f in tree.results)
        },
        suppressions=suppressions,
    )


def _with_waivers_of(
    tree: Tree, context: JudgingContext, suppressions: Suppressions
) -> tuple[Suppressions, list[Finding]]:
    """The suppressions with the waivers in the tree, and findings about these waivers."""
    path = tree.root / WAIVERS_FILE
    if not suppressions.in_tree or context.quirks.ignores_policy or not os.path.lexists(path):
        return suppressions, []
    from podium.compliance.judging.waivers.file import waivers_in_tree

    waivers, faults = waivers_in_tree(path, tree.place(WAIVERS_FILE))
    return replace(suppressions, waivers=(*suppressions.waivers, waivers), own=waivers), faults


def _of_results(
    tree: Tree,
    results: Sequence[ResultVerdict],
    context: JudgingContext,
    round_state: RoundState,
    *,
    code: Code,
    reader: FileReader,
) -> Iterator[Finding]:
    """Findings that only the policy has: about the results together, code and documents."""
    if context.quirks.ignores_policy:
        return
    yield from judge_divisions(tree, results, context)
    yield from judge_together(tree, results, context, round_state)
    if tree.scope:
        return
    runs = [(verdict.folder, verdict.result.runs) for verdict in results]
    yield from judge_documents(tree, runs, context, code=code, reader=reader)


def _hygiene(
    tree: Tree, context: JudgingContext, logs: Verdicts, reader: FileReader
) -> list[Finding]:
    """Findings about the tree as a repository, for which there is an official checker, too."""
    secrets = {path: verdict.facts.secrets for path, verdict in logs.items() if verdict.facts}

    def judge(context: JudgingContext) -> list[Finding]:
        if context.quirks.ignores_policy and not context.rules.package.repository_checked:
            return []
        findings = check_repository(
            tree.root, context.rules, context.profile, secrets, tree.disk, reader
        )
        return [replace(finding, path=tree.place(finding.path)) for finding in findings]

    return context.judge(judge)


# --- systems ---


def _system(tree: Tree, path: str, system: str, context: JudgingContext) -> SystemVerdict:
    if tree.disk.leads_out(path):
        document = unread_description("symbolic link points outside the submission; not followed")
    else:
        document = read_description(tree.root / path)
    location = tree.place(path)
    # Before 1.0 the official checker reads only the division, and only of systems with results
    divides = document.sound and "division" in document.fields
    is_unread = not context.rules.package.fields_checked and (divides or system not in tree.holding)

    def judge(context: JudgingContext) -> list[Finding]:
        findings = judge_description(document, location, context.rules, context.profile).findings
        if is_unread and context.quirks.only_division_read:
            return [replace(finding, severity=Severity.WARNING) for finding in findings]
        return findings

    findings = context.judge(judge)
    description = describe(document.fields) if document.is_object else None
    if description is not None and not context.quirks.ignores_policy:
        from podium.compliance.judging.systems.agreement import agrees_with_folder

        differences = agrees_with_folder(description, tree.submitter, location)
        findings += [
            replace(finding, line=line_of(document, finding.key or "")) for finding in differences
        ]
    return SystemVerdict(findings, description)


# --- results ---


class _ResultJudge:
    """Checks the results of one submission, which share its descriptions, flags and code."""

    def __init__(
        self,
        tree: Tree,
        context: JudgingContext,
        logs: Verdicts,
        suppressions: Suppressions,
        systems: Mapping[str, SystemVerdict],
        code: Code,
    ) -> None:
        self.tree, self.context, self.logs, self.code = tree, context, logs, code
        self.suppressions, self.systems = suppressions, systems
        self.official = context.official
        self.params = {
            each.profile: Params(tree.disk, each.profile, self._shown)
            for each in (context, self.official)
            if each is not None
        }

    def judge(self, folder: ResultFolder) -> ResultVerdict:
        """The verdict on one result in the profile, with the official verifier's."""
        verdict = self._by(self.context, folder)
        if self.official is None:
            return verdict
        official = self._by(self.official, folder)
        findings = mark_official(verdict.findings, official.findings, self.context.rules)
        return replace(verdict, findings=findings, official=official)

    def _shown(self, path: Path) -> str:
        return self.tree.place(path.relative_to(self.tree.root).as_posix())

    def _by(self, context: JudgingContext, folder: ResultFolder) -> ResultVerdict:
        result = self._result(context, folder)
        verdict = judge_result(self.tree, folder, result, context)
        findings = verdict.findings
        if result.power is not None:
            findings += self._of_power(result.power, findings, context)
        # Reviewers who ignore the waivers of a tree also ignore its flags
        is_main = context is self.context
        has_flags = self.suppressions.in_tree or not is_main
        flags = self.params[context.profile].flags(folder.path) if has_flags else frozenset()
        seed_findings = check_seeds(
            [run.facts.seeds for run in result.runs],
            result.rules,
            result.described_division,
            result.profile,
            # A call, so that the code is listed only if a seed's file must be looked up
            (lambda: self.code.paths) if self.code.present else None,
            weak=result.weak,
        )
        findings += _bypassed(seed_findings, SEEDS) if SEEDS in flags else seed_findings
        if not context.quirks.ignores_policy:
            if folder.scaling == "weak":
                pruned = [run for path in folder.pruned if (run := self._run(context, path))]
                findings += judge_throughput(self.tree, verdict, pruned)
            findings += judge_agreement(result)
        rcp_findings = judge_reference_points(result)
        findings += _bypassed(rcp_findings, RCP) if RCP in flags else rcp_findings
        return replace(verdict, findings=self.suppressions.mark(findings)) if is_main else verdict

    def _result(self, context: JudgingContext, folder: ResultFolder) -> Result:
        tree = self.tree
        runs = [run for path in folder.logs if (run := self._run(context, path)) is not None]
        location = ResultLocation(
            tree.root / folder.path,
            tree.place(folder.path),
            tree.submitter,
            folder.system,
            folder.benchmark,
            folder.scaling,
            tree.root / "systems" / f"{folder.system}.json",
        )
        system = self.systems.get(folder.system)
        description = None if system is None else system.description
        return Result(location, context.rules, context.profile, runs, description)

    def _run(self, context: JudgingContext, path: str) -> Run | None:
        verdict = self.logs.get(path)
        if verdict is not None and context is not self.context:
            verdict = verdict.official
        if verdict is None or not isinstance(verdict.facts, Facts):
            return None
        errors = deciding(verdict.findings) if verdict.facts.broken else []
        crashes = context.quirks.crashes_on_logs and any(
            error.id == VERIFIER_CRASH.id for error in errors
        )
        causes = (error.id for error in errors if not error.caused_by)
        return Run(
            self.tree.root / path,
            self.tree.place(path),
            bool(errors),
            verdict.facts,
            crashes,
            next(causes, ""),
        )

    def _of_power(
        self, power: PowerVerdict, others: Sequence[Finding], context: JudgingContext
    ) -> list[Finding]:
        """The findings about the power logs of a result; `others` are its other findings."""
        # The official verifier may drop a run that is rejected only for its power logs
        dropped = context.quirks.drops_power_faults and bool(power.blamed)
        if not dropped or any(finding.severity is Severity.ERROR for finding in others):
            return power.findings
        return [replace(finding, waived=True, waived_by=DROPPED_RUN) for finding in power.findings]


def _bypassed(findings: Iterable[Finding], flag: str) -> Iterator[Finding]:
    """The findings; the findings of the rules that a flag skips are waived."""
    for finding in findings:
        waived = finding.id.startswith(BYPASSED_RULES[flag])
        yield replace(finding, waived=True, waived_by=flag) if waived else finding
