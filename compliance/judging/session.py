"""`check`: every file below the paths judged, by one process or several, into one Report."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from podium.compliance.judging.discovery import DiscoveredInputs, find, judge_rest
from podium.compliance.judging.files import Judged, Task, internal_fault
from podium.compliance.judging.inputs.discover import Package
from podium.compliance.judging.inputs.listing import Disk, holds
from podium.compliance.judging.inputs.round_selection import RoundRequest, rules_of, several
from podium.compliance.judging.logs.judge import LogVerdict
from podium.compliance.judging.official import deciding, marked, passes, with_official
from podium.compliance.judging.options import Options, Progress
from podium.compliance.judging.plugged import judged_by_plugins
from podium.compliance.judging.workers.gc_tuning import fewer_collections
from podium.compliance.reporting.data import (
    FileEntry,
    Outcome,
    PluginEntry,
    ResultEntry,
    Rules,
    SubmissionEntry,
    conclude,
    fails,
    verdict_of,
)
from podium.rules.catalogue import find_round
from podium.rules.finding import DROPPED_RUN, Finding, Profile, Severity
from podium.rules.hindsight import verifier_only
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.inputs.layout import Tree
    from podium.compliance.judging.recall import Recall
    from podium.compliance.judging.submission.judge import Judged as Submission
    from podium.compliance.judging.submission.judge import RoundState
    from podium.compliance.judging.submission.together import Comparator
    from podium.compliance.judging.waivers.suppressions import Suppressions
    from podium.compliance.reporting.models import Report


def check(
    path: Path | str,
    *,
    round: str | None = None,  # noqa: A002 - the contract's name
    usage: str | None = None,
    profile: Literal["policy", "verifier"] | Profile = Profile.POLICY,
    jobs: int = 1,
    strict: bool = False,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
) -> Report:
    """Judge a log, a folder of logs, a submission or a round; returns the whole report.

    Plug-ins that are installed judge as well, unless PODIUM_NO_PLUGINS is set. Raises
    ComplianceError (UsageFault, NothingToJudge) for arguments that cannot be followed;
    anything wrong with the content is a finding of the report.
    """
    options = Options(
        usage,
        round,
        Profile(profile),
        jobs,
        strict,
        tuple(select),
        tuple(ignore),
        plugins=True,
    )
    # The command prints structs: only Python callers wait for pydantic
    from podium.compliance.reporting.models import publish
    from podium.compliance.reporting.placing import based, root_of

    paths = [Path(path)]
    return publish(based(check_paths(paths, options), paths, root_of(None)))


@fewer_collections()
def check_paths(
    paths: list[Path],
    options: Options,
    progress: Progress | None = None,
    gathered: DiscoveredInputs | None = None,
    comparators: Sequence[Comparator] = (),
    memory: Recall | None = None,
) -> Outcome:
    """Judge several paths at once; `gathered`, where given, is what there is below them.

    Its files that are not judged yet are judged, and kept there. `comparators` compare each
    submission with something outside the paths. `memory` knows of an earlier check.
    """
    gathered = gathered or find(paths, options, taking=memory.taking if memory else None)
    wish = RoundRequest(options.usage, options.round)
    session = _Session(options, gathered, comparators, memory)
    # The tasks are gone once they are done
    tasks = [*gathered.tasks] if memory is None else memory.recall(gathered)
    for package in judge_rest(gathered, options, progress):
        rules = wish.choose(package.root).rules
        # Taken out: the listings of a whole round would stay in memory to the end
        session.take_submission(package, rules, gathered.disks.pop(package.root, None))
    if memory is not None:
        memory.keep()
    session.take_plugins(tasks)
    session.take_files()
    session.take_folders(gathered)
    session.take_rounds(wish, gathered)
    session.finish()
    found = session.outcome(rules_of(gathered.choices, options.profile))
    return replace(found, not_judged=gathered.not_judged)


class _Session:
    """What a report is made of, gathered file by file and submission by submission."""

    def __init__(
        self,
        options: Options,
        gathered: DiscoveredInputs,
        comparators: Sequence[Comparator],
        memory: Recall | None,
    ) -> None:
        self.options, self.judged = options, gathered.judged
        self.several = several(gathered.choices)
        self.logs_of: dict[str, list[str]] = {}
        for target in gathered.targets:
            self.logs_of.setdefault(target.submission, []).append(target.path)
        self.files: list[FileEntry] = []
        self.findings: list[Finding] = []
        self.submissions: list[SubmissionEntry] = []
        self.results: list[ResultEntry] = []
        self.unjudged: list[str] = []
        self.described: dict[str, str] = {}
        # Errors of the official verifier, and the logs whose errors it lets pass
        self.rejecting: list[tuple[Finding, Severity]] = []
        self.tolerated: set[str] = set()
        self.officially_tolerated: set[str] = set()
        self.comparators, self.memory = comparators, memory
        self.rounds: dict[tuple[str, str], RoundState] = {}
        self.plugins: list[PluginEntry] = []
        self.beside: dict[str, list[Finding]] = {}

    def take_submission(self, package: Package, rules: Round, disk: Disk | None = None) -> None:
        """Judge a package on top of its logs' verdicts; a fault of podium ends no other's."""
        from podium.compliance.judging.inputs.layout import scan, submitter_of

        try:
            self._take(scan(package, rules, disk), rules)
        except Exception as error:
            place = package.display_path or "."
            self.findings.append(internal_fault(place, error))
            submitter = submitter_of(package.root)
            entry = SubmissionEntry(submitter=submitter, path=place, verdict="rejected")
            self.submissions.append(entry)

    def _take(self, tree: Tree, rules: Round) -> None:
        from podium.compliance.judging.results.model import JudgingContext
        from podium.compliance.judging.submission.judge import judge_submission

        judged = judge_submission(
            tree,
            JudgingContext(rules, self.options.profile),
            lambda path: self._verdict(tree, path),
            self._suppressions(),
            beside=self._round(rules),
        )
        # Logs of no result decide nothing: pruned and misplaced ones are reported apart.
        counted = {tree.place(path) for folder in tree.results for path in folder.logs}
        apart = {
            display_path
            for path in self.logs_of.get(str(tree.root), ())
            if holds(tree.scope, os.path.relpath(path, tree.root) if tree.scope else "")
            and (display_path := self.judged[path].display_path) not in counted
        }
        self.findings += judged.findings
        for folder in tree.results:
            described = tree.systems.get(folder.system)
            place = "" if described is None else tree.place(described)
            self.described[tree.place(folder.path)] = place
        self.tolerated |= judged.tolerated | apart
        official = self._officially(tree, rules, judged)
        entry, results = judged.entry, judged.results
        if official is not None:
            self._reject(official.findings, rules)
            self.officially_tolerated |= official.tolerated | apart
            entry = with_official(entry, official.entry)
            results = [*map(with_official, results, official.results)]
        self.results += results
        self.unjudged += judged.unjudged
        if not tree.scope:
            self.submissions.append(entry)
        for path, passed in judged.systems.items():
            theirs = None if official is None else passes(official.systems[path])
            verdict = passes(passed)
            self.files.append(
                FileEntry(path=path, kind="system", verdict=verdict, official_verdict=theirs)
            )

    def _reject(self, findings: Iterable[Finding], rules: Round) -> None:
        """Keep what the official verifier rejects for, and how much that weighs by the policy."""
        self.rejecting += [(each, verifier_only(rules)) for each in deciding(findings)]

    def _verdict(self, tree: Tree, path: str) -> LogVerdict | None:
        one = self.judged.get(f"{tree.root}/{path}")
        return None if one is None else one.verdict

    def _officially(self, tree: Tree, rules: Round, judged: Submission) -> Submission | None:
        """The same submission as the official verifier judges it, which knows no waivers."""
        from podium.compliance.judging.results.model import JudgingContext
        from podium.compliance.judging.submission.judge import judge_submission

        if not rules.verified or self.options.profile is Profile.VERIFIER:
            return judged if rules.verified else None

        def verdict(path: str) -> LogVerdict | None:
            ours = self._verdict(tree, path)
            return None if ours is None else ours.official

        return judge_submission(tree, JudgingContext(rules, Profile.VERIFIER), verdict)

    def _round(self, rules: Round) -> RoundState:
        from podium.compliance.judging.submission.judge import RoundState

        contents = self.memory.contents if self.memory else None
        new = RoundState(comparators=self.comparators, contents=contents)
        # Copies of runs are looked for among the submissions of one round
        return self.rounds.setdefault((rules.usage, rules.name), new)

    def _suppressions(self) -> Suppressions:
        from podium.compliance.judging.waivers.suppressions import Suppressions

        return Suppressions(self.options.waivers, self.options.waivers_in_tree)

    def take_plugins(self, tasks: Sequence[Task]) -> None:
        """Have plug-ins judge the same logs; their findings are kept apart until the report."""
        self.plugins, found = judged_by_plugins(tasks, self.options)
        for each in found:
            self.beside.setdefault(each.path, []).append(each)

    def take_files(self) -> None:
        """Add every file's own verdict and findings; a tolerated failure is marked as waived."""
        for one in self.judged.values():
            self._waive(one.verdict)
            found, theirs = one.verdict.findings, self._official_part(one)
            found = [*found, *one.verdict.beside, *self.beside.get(one.display_path, ())]
            # The file fails all the same: only its result is accepted with it
            self.files.append(self._entry(one, found, theirs))
            if theirs and theirs.findings and one.display_path not in self.officially_tolerated:
                self._reject(theirs.findings, find_round(*one.round.split()))
            if one.display_path in self.tolerated:
                # Its warnings reject nothing, and so need no waiver
                found = [self._excused(f) if f.severity == "error" else f for f in found]
            self.findings += found

    def _excused(self, finding: Finding) -> Finding:
        if finding.waived:
            return finding
        return replace(finding, waived=True, waived_by=DROPPED_RUN)

    def _official_part(self, one: Judged) -> LogVerdict | None:
        own = self.options.profile is Profile.VERIFIER and one.verified
        return one.verdict if own else one.verdict.official

    def take_folders(self, gathered: DiscoveredInputs) -> None:
        """Tell of folders judged as loose logs that look like submissions, and of links to some."""
        folders = (gathered.undescribed, gathered.resultless, gathered.linked)
        # The official program is started for one submission, and looks at nothing beside it
        if not any(folders) or self.options.profile is not Profile.POLICY:
            return
        from podium.compliance.judging.submission import layout_rules

        logs = [one.display_path for one in self.judged.values()]
        self.findings += [layout_rules.no_systems(each, logs) for each in gathered.undescribed]
        self.findings += map(layout_rules.no_results, gathered.resultless)
        self.findings += map(layout_rules.linked_folder, gathered.linked)

    def _waive(self, verdict: LogVerdict) -> None:
        if self.options.waivers:
            verdict.findings = self._suppressions().mark(verdict.findings)
            verdict.beside = self._suppressions().mark(verdict.beside)

    def take_rounds(self, wish: RoundRequest, gathered: DiscoveredInputs) -> None:
        """Tell of logs that are judged by the rules of another round than theirs."""
        failing = any(entry.verdict == "fail" and entry.kind == "log" for entry in self.files)
        if self.options.profile is Profile.VERIFIER or not failing:
            return
        from podium.compliance.judging.wrong_round import mark_consequences

        shown = {str(package.root): package for package in gathered.packages}
        for submission, paths in self.logs_of.items():
            package = shown.get(submission)
            path = "." if package is None else package.display_path or "."
            logs = [self.judged[each] for each in paths]
            if len({one.round for one in logs}) > 1:
                continue
            rules = wish.choose(logs[0].path).rules
            self.findings = mark_consequences(self.findings, logs, rules, path)

    def finish(self) -> None:
        """Tell of waivers that the user gave and that have ended, or cover nothing."""
        for waivers in self.options.waivers:
            from podium.compliance.judging.waivers.suppressions import Suppressions

            self.findings += Suppressions(own=waivers).about(self.findings)

    def _entry(self, one: Judged, found: list[Finding], theirs: LogVerdict | None) -> FileEntry:
        verdict = one.verdict
        return FileEntry(
            path=one.display_path,
            kind=one.kind,
            verdict=passes(not fails(found, strict=self.options.strict)),
            official_verdict=None if theirs is None else passes(not deciding(theirs.findings)),
            benchmark=verdict.benchmark,
            division=verdict.division,
            minutes=verdict.minutes,
            converged=verdict.converged,
            round=one.round if self.several else None,
        )

    def _traced(self, findings: list[Finding]) -> list[Finding]:
        # Facts that several rules report are those of results: loose logs have none
        if not self.described or not findings:
            return findings
        from podium.compliance.judging.consequences import mark_consequences

        return mark_consequences(findings, self.described)

    def outcome(self, rules: Rules) -> Outcome:
        """The report."""
        judged_officially = any(one.official_verdict for one in self.files) or any(
            one.official_verdict for one in self.submissions
        )
        errors = [error for error, _ in self.rejecting]
        report = conclude(
            rules,
            self.files,
            self._traced(marked(self.findings, self.rejecting)),
            submissions=self.submissions,
            results=self.results,
            official_verdict=verdict_of(errors) if judged_officially else None,
            selected=self.options.selected,
            strict=self.options.strict,
        )
        if self.plugins:
            report = replace(report, plugins=self.plugins)
        return replace(report, unjudged=sorted(self.unjudged)) if self.unjudged else report
