"""A whole submission: every log's verdict, then the package's, by one pass over each file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.layout import ResultFolder, Tree
from podium.compliance.judging.inputs.source_files import Code
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.logs.judge import LogVerdict
from podium.compliance.judging.repository.check import check_repository
from podium.compliance.judging.repository.contents import FileReader
from podium.compliance.judging.results.judge import judge_reference_points, judge_result
from podium.compliance.judging.results.location import Place
from podium.compliance.judging.results.model import JudgingContext, ResultVerdict
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.results.seeds import check_seeds
from podium.compliance.judging.results.summary import result_entry
from podium.compliance.judging.results.throughput import judge_throughput
from podium.compliance.judging.submission.agreement import LogAgreement, judge_divisions
from podium.compliance.judging.submission.copies import SubmissionIndex
from podium.compliance.judging.submission.documents import judge_documents
from podium.compliance.judging.submission.layout_rules import judge_tree, reported
from podium.compliance.judging.submission.together import Comparator, judge_alone, judge_together
from podium.compliance.judging.systems.check import SystemVerdict, judge_description
from podium.compliance.judging.systems.reader import line_of, read_description, unread_description
from podium.compliance.judging.waivers.bypass_flags import RCP, SEEDS, Params
from podium.compliance.judging.waivers.suppressions import NOTHING_LEFT_OUT, Suppressions
from podium.compliance.judging.waivers.waivers import WAIVERS_FILE
from podium.compliance.reporting.data import ResultEntry, SubmissionEntry
from podium.rules.finding import DROPPED_RUN, Finding, Severity
from podium.rules.hindsight import in_hindsight

if TYPE_CHECKING:
    from podium.compliance.judging.repository.contents import Memory
    from podium.compliance.judging.repository.secrets import Secrets

Verdicts = Callable[[str], LogVerdict | None]
"""The verdict of a log, by its path relative to the submission."""


class Judged(msgspec.Struct):
    """A submission judged: findings beside those of its logs, and an entry for each result.

    `systems` are its descriptions, by path, and whether each passes; `tolerated` are the logs whose
    failure the result may have: their findings are waived. `unjudged` are folders with logs of no
    benchmark.
    """

    entry: SubmissionEntry
    findings: list[Finding] = msgspec.field(default_factory=list)
    results: list[ResultEntry] = msgspec.field(default_factory=list)
    systems: dict[str, bool] = msgspec.field(default_factory=dict)
    tolerated: set[str] = msgspec.field(default_factory=set)
    unjudged: list[str] = msgspec.field(default_factory=list)


class RoundState(msgspec.Struct):
    """What the submissions of one round share while they are judged.

    `seen` has the runs of those judged already, among which there may be copies; `comparators`
    compare each with something outside the round; `contents` knows the files of one, by its root.
    """

    seen: SubmissionIndex = msgspec.field(default_factory=SubmissionIndex)
    comparators: Sequence[Comparator] = ()
    contents: Callable[[Path], Memory | None] | None = None


def judge_submission(
    tree: Tree,
    context: JudgingContext,
    verdicts: Verdicts,
    suppressions: Suppressions = NOTHING_LEFT_OUT,
    *,
    beside: RoundState | None = None,
) -> Judged:
    """Judge one submission whose logs are judged already; waivers mark their findings, too."""
    return _Submission(tree, context, verdicts, suppressions, beside or RoundState()).judge()


class _Submission:
    def __init__(
        self,
        tree: Tree,
        context: JudgingContext,
        verdicts: Verdicts,
        suppressions: Suppressions,
        beside: RoundState,
    ) -> None:
        self.tree, self.context, self.verdicts, self.beside = tree, context, verdicts, beside
        self.systems: dict[str, SystemVerdict] = {}
        self.findings: list[Finding] = []
        self.logs: list[Finding] = []
        self.code = Code(tree.root)
        contents = beside.contents
        self.reader = FileReader(None if contents is None else contents(tree.root))
        self.params = Params(tree.root, context.profile, self._shown, tree.disk)
        self.agreement = LogAgreement(context)
        self.suppressions = suppressions
        waivers = tree.root / WAIVERS_FILE
        if suppressions.in_tree and not context.verifier and os.path.lexists(waivers):
            from podium.compliance.judging.waivers.file import waivers_in_tree

            own, faults = waivers_in_tree(waivers, tree.place(WAIVERS_FILE))
            self.findings += faults
            given = (*suppressions.waivers, own)
            self.suppressions = replace(suppressions, waivers=given, own=own)

    def judge(self) -> Judged:
        tree, context = self.tree, self.context
        self.findings += judge_tree(tree, context) if not tree.scope else reported(tree, context)
        for system, path in tree.systems.items():
            self._system(system, path)
        results = [self._result(folder) for folder in tree.results]
        if not context.verifier:
            self.findings += judge_divisions(tree, results, context)
        if tree.scope:
            self.findings += judge_alone(tree, results, context)
            self.findings = self.suppressions.mark(self.findings)
            return self._judged(results, [])
        beside = self.beside
        self.findings += judge_together(tree, results, context, beside.seen, beside.comparators)
        runs = [(verdict.folder, verdict.result.runs) for verdict in results]
        self.findings += judge_documents(tree, runs, context, code=self.code, reader=self.reader)
        if self.suppressions.in_tree:
            # Complete only here: every result has asked for its flags
            self.findings += self.params.findings
        hygiene = self._hygiene()
        if not context.verifier:
            # The official package checker leaves names and links to another program.
            self.findings += hygiene
        self.findings = self.suppressions.mark(self.findings)
        return self._judged(results, hygiene if context.verifier else [])

    def _judged(self, results: list[ResultVerdict], undecided: list[Finding]) -> Judged:
        """The verdict; `undecided` are findings that do not decide it."""
        tree = self.tree
        rejected = any(f.severity is Severity.ERROR and not f.waived for f in self.findings)
        rejected = rejected or any(verdict.rejected for verdict in results)
        findings = [
            *self.findings,
            *undecided,
            *(finding for verdict in results for finding in verdict.findings),
        ]
        return Judged(
            SubmissionEntry(
                submitter=tree.submitter,
                path=tree.package.display_path or ".",
                verdict="rejected" if rejected else "accepted",
            ),
            [
                *in_hindsight(findings, self.context.rules, self.context.profile),
                *self.suppressions.about([*findings, *self.logs]),
            ],
            [result_entry(verdict) for verdict in results],
            {tree.place(p): self.systems[s].passed for s, p in tree.systems.items()},
            {
                run.display_path
                for verdict in results
                for run in verdict.result.runs
                if verdict.failing(run) and not verdict.rejected
            },
            [tree.place(path) for path in tree.unjudged],
        )

    def _shown(self, path: Path) -> str:
        return self.tree.place(path.relative_to(self.tree.root).as_posix())

    def _hygiene(self) -> list[Finding]:
        tree, context = self.tree, self.context
        if context.verifier and not context.rules.package.repository_checked:
            return []
        how = (context.rules, context.profile, self._secrets, tree.disk, self.reader)
        found = check_repository(tree.root, *how)
        return [replace(finding, path=tree.place(finding.path)) for finding in found]

    def _secrets(self, path: str) -> Secrets | None:
        verdict = self.verdicts(path)
        return None if verdict is None or verdict.facts is None else verdict.facts.secrets

    # --- systems ---

    def _system(self, system: str, path: str) -> None:
        tree, context = self.tree, self.context
        if tree.disk.leads_out(path):
            document = unread_description("a link out of the submission, which is not followed")
        else:
            document = read_description(tree.root / path)
        verdict = judge_description(document, tree.place(path), context.rules, context.profile)
        self.systems[system] = verdict
        # In 0.7 it passes a description without framework, and ends on one without division
        if context.verifier and _not_read(verdict, system in tree.holding, context):
            verdict.findings = [
                replace(found, severity=Severity.WARNING) for found in verdict.findings
            ]
        self.findings += verdict.findings
        if verdict.description is not None and not context.verifier:
            from podium.compliance.judging.systems.agreement import agrees_with_folder

            where = tree.place(path)
            for found in agrees_with_folder(verdict.description, tree.submitter, where):
                line = line_of(document, found.key or "")
                self.findings.append(replace(found, line=line))

    # --- results ---

    def _result(self, folder: ResultFolder) -> ResultVerdict:
        context, result = self.context, self._built(folder)
        verdict = judge_result(self.tree, folder, result, context)
        pruned = [run for path in folder.pruned if (run := self._run(path)) is not None]
        verdict.findings += judge_throughput(self.tree, verdict, pruned, context)
        verdict.findings += self._power(verdict)
        # A reviewer who leaves out waivers leaves out these flags as well
        flags = self.params.flags(folder.path) if self.suppressions.in_tree else frozenset()
        verdict.findings += _bypassed(self._seeds(result), SEEDS, flags)
        if not context.verifier:
            verdict.findings += self.agreement.judge(result)
        verdict.findings += _bypassed(judge_reference_points(result), RCP, flags)
        verdict.findings = self.suppressions.mark(verdict.findings)
        return verdict

    def _built(self, folder: ResultFolder) -> Result:
        tree, context = self.tree, self.context
        runs = [run for path in folder.logs if (run := self._run(path)) is not None]
        described = self.systems.get(folder.system)
        place = Place(
            tree.root / folder.path,
            tree.place(folder.path),
            tree.submitter,
            folder.system,
            folder.benchmark,
            folder.scaling,
            tree.root / "systems" / f"{folder.system}.json",
        )
        description = None if described is None else described.description
        return Result(place, context.rules, context.profile, runs, description)

    def _run(self, path: str) -> Run | None:
        verdict = self.verdicts(path)
        if verdict is None or not isinstance(verdict.facts, Facts):
            return None
        if verdict.findings and self.suppressions.marks:
            verdict.findings = self.suppressions.mark(verdict.findings)
            self.logs += verdict.findings
        failed = verdict.facts.broken and any(
            f.severity is Severity.ERROR and not f.waived for f in verdict.findings
        )
        tree = self.tree
        return Run(tree.root / path, tree.place(path), failed, verdict.facts)

    def _power(self, verdict: ResultVerdict) -> list[Finding]:
        """Findings of power logs; officially a run that only they reject may be dropped."""
        power = verdict.result.power
        if power is None:
            return []
        blamed_only = not any(f.severity is Severity.ERROR for f in verdict.findings)
        tolerated = self.context.verifier and blamed_only and bool(power.blamed)
        if not tolerated:
            return power.findings
        return [replace(found, waived=True, waived_by=DROPPED_RUN) for found in power.findings]

    def _seeds(self, result: Result) -> list[Finding]:
        return check_seeds(
            [run.facts.seeds for run in result.runs],
            self.context.rules,
            result.described_division,
            self.context.profile,
            # A call, so that the code is listed only where a seed's file is to be looked up
            (lambda: self.code.paths) if self.code.present else None,
            weak=result.weak,
        )


def _bypassed(findings: Iterable[Finding], flag: str, flags: Collection[str]) -> Iterator[Finding]:
    """The findings, all waived where the flag that leaves them out is set."""
    for found in findings:
        yield replace(found, waived=True, waived_by=flag) if flag in flags else found


def _not_read(verdict: SystemVerdict, used: bool, context: JudgingContext) -> bool:
    """Whether the official package checker does not look at what is wrong with a description.

    Before 1.0 it only takes the division of it, where the system has results: without one it ends.
    """
    return not context.rules.package.fields_checked and (verdict.divides or not used)
