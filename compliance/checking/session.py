"""`check`: every file below the paths judged, by one process or several, into one Report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from podium.compliance.checking.discovery import DiscoveredInputs, find, judge_rest
from podium.compliance.checking.files import (
    Judged,
    internal_fault,
)
from podium.compliance.checking.gc_tuning import fewer_collections
from podium.compliance.checking.options import Options, Progress
from podium.compliance.inputs.listing import Disk
from podium.compliance.inputs.round_selection import RoundRequest, rules_of, several
from podium.compliance.logs.judge import LogVerdict
from podium.compliance.report.data import (
    FileEntry,
    Outcome,
    ResultEntry,
    SubmissionEntry,
    conclude,
    fails,
)
from podium.rules.finding import Finding, Profile
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.inputs.layout import Tree
    from podium.compliance.report.models import Report
    from podium.compliance.submission.judge import RoundState
    from podium.compliance.submission.together import Comparator
    from podium.compliance.waivers.suppressions import Suppressions


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

    Raises ComplianceError (UsageFault, NothingToJudge) for arguments that cannot be followed;
    anything wrong with the content is a finding of the report.
    """
    options = Options(usage, round, Profile(profile), jobs, strict, tuple(select), tuple(ignore))
    # The command prints structs: only Python callers wait for pydantic
    from podium.compliance.report.models import publish

    return publish(check_paths([Path(path)], options))


@fewer_collections()
def check_paths(
    paths: list[Path],
    options: Options,
    progress: Progress | None = None,
    gathered: DiscoveredInputs | None = None,
    comparators: Sequence[Comparator] = (),
) -> Outcome:
    """Judge several paths at once; `gathered`, where given, is what there is below them.

    Its files that are not judged yet are judged, and kept there. `comparators` compare each
    submission with something outside the paths.
    """
    gathered = gathered or find(paths, options)
    wish = RoundRequest(options.usage, options.round)
    session = _Session(options, gathered, comparators)
    for root, display_path in judge_rest(gathered, options.jobs, progress):
        rules = wish.choose(root).rules
        # Taken out: the listings of a whole round would stay in memory to the end
        session.take_submission(root, display_path, rules, gathered.disks.pop(root, None))
    session.take_files()
    session.take_folders(gathered.nearly, gathered.linked)
    session.finish()
    return conclude(
        rules_of(gathered.choices, options.profile),
        session.files,
        session.findings,
        submissions=session.submissions,
        results=session.results,
        strict=options.strict,
    )


class _Session:
    """What a report is made of, gathered file by file and submission by submission."""

    def __init__(
        self, options: Options, gathered: DiscoveredInputs, comparators: Sequence[Comparator]
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
        self.tolerated: set[str] = set()
        self.comparators = comparators
        self.rounds: dict[tuple[str, str], RoundState] = {}

    def take_submission(
        self, root: Path, display_path: str, rules: Round, disk: Disk | None = None
    ) -> None:
        """Judge a package on top of its logs' verdicts; a fault of podium ends no other's."""
        from podium.compliance.inputs.layout import scan, submitter_of

        try:
            self._take(scan(root, display_path, rules, disk), rules)
        except Exception as error:
            place = display_path or "."
            self.findings.append(internal_fault(place, error))
            entry = SubmissionEntry(submitter=submitter_of(root), path=place, verdict="rejected")
            self.submissions.append(entry)

    def _take(self, tree: Tree, rules: Round) -> None:
        from podium.compliance.results.model import JudgingContext
        from podium.compliance.submission.judge import judge_submission

        inside = f"{tree.root}/"

        def verdict(path: str) -> LogVerdict | None:
            one = self.judged.get(inside + path)
            return None if one is None else one.verdict

        package = judge_submission(
            tree,
            JudgingContext(rules, self.options.profile),
            verdict,
            self._suppressions(),
            beside=self._round(rules),
        )
        self.findings += [f for f in package.findings if self.options.wants(f.id)]
        self.submissions.append(package.entry)
        self.results += package.results
        # Logs of no result decide nothing: pruned and misplaced ones are reported apart.
        counted = {tree.place(path) for folder in tree.results for path in folder.logs}
        self.tolerated |= package.tolerated
        self.tolerated |= {
            display_path
            for path in self.logs_of.get(str(tree.root), ())
            if (display_path := self.judged[path].display_path) not in counted
        }
        for path, passed in package.systems:
            state: Literal["pass", "fail"] = "pass" if passed else "fail"
            self.files.append(FileEntry(path=path, kind="system", verdict=state))

    def _round(self, rules: Round) -> RoundState:
        from podium.compliance.submission.judge import RoundState

        new = RoundState(comparators=self.comparators)
        # Copies of runs are looked for among the submissions of one round
        return self.rounds.setdefault((rules.usage, rules.name), new)

    def _suppressions(self) -> Suppressions:
        from podium.compliance.waivers.suppressions import Suppressions

        options = self.options
        some = options.select or options.ignore
        wants = options.wants if some else None
        return Suppressions(options.waivers, options.waivers_in_tree, wants=wants)

    def take_files(self) -> None:
        """Add every file's own verdict and findings; a tolerated failure is marked as waived."""
        for one in self.judged.values():
            self._waive(one.verdict)
            kept = [f for f in one.verdict.findings if self.options.wants(f.id)]
            # The file fails all the same: only its result is accepted with it
            self.files.append(self._entry(one, kept))
            if one.display_path in self.tolerated:
                # Its warnings reject nothing, and so need no waiver
                kept = [replace(f, waived=True) if f.severity == "error" else f for f in kept]
            self.findings += kept

    def take_folders(self, nearly: list[str], linked: list[str]) -> None:
        """Tell of folders judged as loose logs that look like submissions, and of links to some."""
        # The official program is started for one submission, and looks at nothing beside it
        if (nearly or linked) and self.options.profile is Profile.POLICY:
            from podium.compliance.submission.layout_rules import linked_folder, no_systems

            reported = [*map(no_systems, nearly), *map(linked_folder, linked)]
            self.findings += [finding for finding in reported if self.options.wants(finding.id)]

    def _waive(self, verdict: LogVerdict) -> None:
        if self.options.waivers:
            verdict.findings = self._suppressions().mark(verdict.findings)

    def finish(self) -> None:
        """Tell of waivers that the user gave and that have ended, or cover nothing."""
        for waivers in self.options.waivers:
            from podium.compliance.waivers.suppressions import Suppressions

            self.findings += Suppressions(own=waivers).about(self.findings)

    def _entry(self, one: Judged, kept: list[Finding]) -> FileEntry:
        verdict = one.verdict
        return FileEntry(
            path=one.display_path,
            kind=one.kind,
            verdict="fail" if fails(kept, strict=self.options.strict) else "pass",
            benchmark=verdict.benchmark,
            division=verdict.division,
            minutes=verdict.minutes,
            converged=verdict.converged,
            round=one.round if self.several else None,
        )
