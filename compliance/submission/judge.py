"""A whole submission: every log's verdict, then the package's, by one pass over each file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from podium.compliance.inputs.layout import ResultFolder, Tree
from podium.compliance.inputs.source_files import Code
from podium.compliance.logs.facts import Facts
from podium.compliance.logs.judge import LogVerdict
from podium.compliance.report.data import RcpEntry, ResultEntry, SubmissionEntry
from podium.compliance.repository.check import check_repository
from podium.compliance.results.consistency import SubmissionIndex
from podium.compliance.results.convergence import judge_convergence
from podium.compliance.results.model import JudgingContext, ResultVerdict, Run
from podium.compliance.results.score_inputs import score_of
from podium.compliance.results.seeds import check_seeds
from podium.compliance.results.throughput import judge_throughput
from podium.compliance.submission.documents import judge_documents
from podium.compliance.submission.layout_rules import judge_tree
from podium.compliance.submission.package import judge_result, judge_together
from podium.compliance.systems.check import (
    SystemDescription,
    SystemVerdict,
    judge_description,
    read_description,
    unread_description,
)
from podium.compliance.waivers.apply import WAIVERS_FILE, Waivers, apply_waivers, mark
from podium.compliance.waivers.bypass_flags import RCP, SEEDS, Params
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Finding, Profile, Severity, StatedBy

if TYPE_CHECKING:
    from podium.compliance.power.check import PowerVerdict
    from podium.compliance.repository.secrets import Secrets
    from podium.compliance.systems.agreement import LogFacts

Verdicts = Callable[[str], LogVerdict | None]
"""The verdict of a log, by its path relative to the submission."""


class Judged(msgspec.Struct):
    """A submission judged: findings beside those of its logs, and an entry for each result.

    `tolerated` are the logs whose failure the result may have: their findings are waived.
    """

    entry: SubmissionEntry
    findings: list[Finding] = msgspec.field(default_factory=list)
    results: list[ResultEntry] = msgspec.field(default_factory=list)
    systems: list[tuple[str, bool]] = msgspec.field(default_factory=list)
    tolerated: set[str] = msgspec.field(default_factory=set)


class Suppressions(msgspec.Struct, frozen=True):
    """What is left out of account: waivers given, and whether those in the tree count.

    `in_tree` is off for reviewers who want to see everything; `own` are the tree's own waivers.
    `wants` tells the rules that count at all, where not all do.
    """

    waivers: tuple[Waivers, ...] = ()
    in_tree: bool = True
    own: Waivers | None = None
    wants: Callable[[str], bool] | None = None

    @property
    def marks(self) -> bool:
        """Whether anything is left out."""
        return bool(self.waivers) or self.wants is not None

    def mark(self, findings: Iterable[Finding]) -> list[Finding]:
        """The findings, those that do not count marked as waived."""
        marked = list(findings)
        for waivers in self.waivers:
            marked = mark(marked, waivers, date.today())
        if self.wants is not None:
            marked = [f if self.wants(f.id) else replace(f, waived=True) for f in marked]
        return marked

    def about(self, findings: list[Finding]) -> list[Finding]:
        """What is to be told of the tree's own waivers: expired, or covering nothing."""
        if self.own is None:
            return []
        return apply_waivers(findings, self.own, date.today())[len(findings) :]


NOTHING_LEFT_OUT = Suppressions()


def judge_submission(
    tree: Tree,
    by: JudgingContext,
    verdicts: Verdicts,
    leave: Suppressions = NOTHING_LEFT_OUT,
    *,
    seen: SubmissionIndex | None = None,
) -> Judged:
    """Judge one submission whose logs are judged already; waivers mark their findings, too.

    `seen` has the runs of the round's other submissions, among which there may be copies.
    """
    return _Submission(tree, by, verdicts, leave, seen).judge()


class _Submission:
    def __init__(
        self,
        tree: Tree,
        by: JudgingContext,
        verdicts: Verdicts,
        leave: Suppressions,
        seen: SubmissionIndex | None,
    ) -> None:
        self.tree, self.by, self.verdicts, self.seen = tree, by, verdicts, seen
        self.systems: dict[str, SystemVerdict] = {}
        self.differences: dict[tuple[str, LogFacts], list[Finding]] = {}
        self.findings: list[Finding] = []
        self.logs: list[Finding] = []
        self.code = Code(tree.root)
        self.params = Params(tree.root, by.profile, self._shown, tree.disk)
        self.leave = leave
        if leave.in_tree and not by.verifier and os.path.lexists(tree.root / WAIVERS_FILE):
            from podium.compliance.waivers.file import waivers_in_tree

            own, faults = waivers_in_tree(tree.root / WAIVERS_FILE, tree.place(WAIVERS_FILE))
            self.findings += faults
            self.leave = replace(leave, waivers=(*leave.waivers, own), own=own)

    def judge(self) -> Judged:
        tree, by = self.tree, self.by
        self.findings += judge_tree(tree, by)
        for system, path in tree.systems.items():
            self._system(system, path)
        results = [self._result(folder) for folder in tree.results]
        self.findings += judge_together(tree, results, by, self.seen)
        self.findings += judge_documents(tree, [(v.folder, v.runs) for v in results], by, self.code)
        if self.leave.in_tree:
            self.findings += self.params.findings
        hygiene = self._hygiene()
        if not by.verifier:
            # The official package checker leaves names and links to another program.
            self.findings += hygiene
        self.findings = self.leave.mark(self.findings)
        entries = [self._entry(verdict) for verdict in results]
        rejected = any(f.severity is Severity.ERROR and not f.waived for f in self.findings)
        rejected = rejected or any(verdict.rejected for verdict in results)
        findings = [
            *self.findings,
            *(hygiene if by.verifier else ()),
            *(f for verdict in results for f in verdict.findings),
        ]
        return Judged(
            SubmissionEntry(
                submitter=tree.submitter,
                path=tree.display_path or ".",
                verdict="rejected" if rejected else "accepted",
            ),
            [*findings, *self.leave.about([*findings, *self.logs])],
            entries,
            [(tree.place(p), self.systems[s].passed) for s, p in tree.systems.items()],
            {r.display_path for v in results for r in v.runs if r.failed and not v.rejected},
        )

    def _shown(self, path: Path) -> str:
        return self.tree.place(path.relative_to(self.tree.root).as_posix())

    def _hygiene(self) -> list[Finding]:
        tree, by = self.tree, self.by
        found = check_repository(tree.root, by.rules, by.profile, self._secrets, tree.disk)
        return [replace(finding, path=tree.place(finding.path)) for finding in found]

    def _secrets(self, path: str) -> Secrets | None:
        verdict = self.verdicts(path)
        return None if verdict is None or verdict.facts is None else verdict.facts.secrets

    def _system(self, system: str, path: str) -> None:
        if self.tree.disk.leads_out(path):
            document = unread_description("a link out of the submission, which is not followed")
        else:
            document = read_description(self.tree.root / path)
        verdict = judge_description(document, self.tree.place(path), self.by.rules, self.by.profile)
        self.systems[system] = verdict
        if self.by.verifier and _passed_over(verdict, system in self.tree.holding, self.by):
            verdict.findings = [
                replace(found, severity=Severity.WARNING) for found in verdict.findings
            ]
        self.findings += verdict.findings
        if verdict.description is not None and not self.by.verifier:
            from podium.compliance.systems.agreement import agrees_with_folder

            self.findings += agrees_with_folder(
                verdict.description, self.tree.submitter, self.tree.place(path)
            )

    def _result(self, folder: ResultFolder) -> ResultVerdict:
        runs = [run for path in folder.logs if (run := self._run(path)) is not None]
        described = self.systems.get(folder.system)
        description = None if described is None else described.description
        division = self._division(described)
        flags = self.params.flags(folder.path) if self.leave.in_tree else frozenset()
        nodes = None if description is None else description.nodes
        power = self._power(folder, runs, nodes) if folder.power else None
        verdict = judge_result(self.tree, folder, runs, division, self.by)
        pruned = [run for path in folder.pruned if (run := self._run(path)) is not None]
        total = None if description is None else description.accelerators or description.nodes
        verdict.findings += judge_throughput(self.tree, verdict, pruned, total, self.by)
        if power is not None:
            verdict.energies = power.energies
            blamed_only = not any(f.severity is Severity.ERROR for f in verdict.findings)
            tolerated = self.by.verifier and blamed_only and bool(power.blamed)
            verdict.findings += [replace(f, waived=f.waived or tolerated) for f in power.findings]
        seeds = check_seeds(
            [run.facts.seeds for run in runs],
            self.by.rules,
            division,
            self.by.profile,
            (lambda: self.code.paths) if self.code.present else None,
            weak=folder.scaling == "weak",
        )
        verdict.findings += [replace(f, waived=SEEDS in flags) for f in seeds]
        if not self.by.verifier and description is not None:
            verdict.findings += self._agreement(folder, description, runs)
        verdict.convergence = self._convergence(verdict)
        rcp = self._about_convergence(verdict)
        verdict.findings += [replace(f, waived=RCP in flags) for f in rcp]
        verdict.findings = self.leave.mark(verdict.findings)
        verdict.score = score_of(verdict, self.by)
        return verdict

    def _power(self, folder: ResultFolder, runs: list[Run], nodes: int | None) -> PowerVerdict:
        from podium.compliance.power.check import (  # few results have power logs
            PoweredRun,
            check_power,
        )

        powered = [
            PoweredRun(Path(run.display_path).stem, run.facts.run.start_ms, run.facts.run.stop_ms)
            for run in runs
        ]
        place = self.tree.root / folder.path
        verdict = check_power(place, powered, nodes, self.by.rules, self.by.profile, self._shown)
        if self.by.verifier:
            # The official checker counts a run with a wrong power folder among those that fail.
            for run in runs:
                run.failed = run.failed or Path(run.display_path).stem in verdict.blamed
        return verdict

    def _about_convergence(self, verdict: ResultVerdict) -> Iterator[Finding]:
        ours = verdict.convergence
        if ours is None or ours.verdict == "not_applicable":
            return
        theirs = ours if self.by.verifier else self._convergence(verdict, Profile.VERIFIER)
        judged = ours if ours.verdict != "pass" else theirs
        if judged.verdict == "pass":
            return
        stated = StatedBy.BOTH
        if ours.verdict == "pass":
            stated = StatedBy.VERIFIER
        elif theirs.verdict == "pass":
            stated = StatedBy.POLICY
        yield self.by.finding(
            "rcp.missing" if judged.verdict == "missing" else "rcp.failed",
            self.tree.place(verdict.folder.path),
            "; ".join(judged.messages) or "the result fails the test of convergence",
            "see `podium rcp check` for the arithmetic",
            stated_by=stated,
            expected="" if judged.minimum is None else f"at least {judged.minimum:g}",
            actual=judged.submission,
        )

    def _run(self, path: str) -> Run | None:
        verdict = self.verdicts(path)
        if verdict is None or not isinstance(verdict.facts, Facts):
            return None
        if verdict.findings and self.leave.marks:
            verdict.findings = self.leave.mark(verdict.findings)
            self.logs += verdict.findings
        failed = verdict.facts.broken and any(
            f.severity is Severity.ERROR and not f.waived for f in verdict.findings
        )
        return Run(self.tree.place(path), failed, verdict.facts)

    def _division(self, described: SystemVerdict | None) -> str:
        """The division that decides: as spelt for the verifier, else by its meaning."""
        if described is None or described.description is None:
            return ""
        if self.by.verifier:
            return str(described.description.given.get("division", ""))
        return described.description.division or ""

    def _agreement(
        self, folder: ResultFolder, description: SystemDescription, runs: list[Run]
    ) -> Iterator[Finding]:
        from podium.compliance.systems.agreement import LogFacts

        told: set[tuple[str, Any]] = set()
        with_status = "submission_status" in _common_keys(self.by)
        sayings: dict[tuple[Any, ...], Run] = {}
        for run in runs:
            facts = run.facts
            said = (
                facts.run.division,
                facts.org,
                facts.platform,
                facts.status if with_status else None,
                facts.nodes,
                facts.accelerators_per_node,
            )
            sayings.setdefault(said, run)
        for said, run in sayings.items():
            facts_said = LogFacts(*said, weak=folder.scaling == "weak")
            for difference in self._differences(folder.system, description, facts_said):
                # Every run of a result says the same: one finding tells it.
                if (difference.id, difference.actual) not in told:
                    told.add((difference.id, difference.actual))
                    yield replace(difference, path=run.display_path)

    def _differences(
        self, system: str, description: SystemDescription, said: LogFacts
    ) -> list[Finding]:
        """What logs say otherwise than their system's description: nearly all say the same.

        The findings have no path yet: they are those of every log that says it.
        """
        known = self.differences.get((system, said))
        if known is None:
            from podium.compliance.systems.agreement import agrees_with_logs

            known = self.differences[system, said] = agrees_with_logs(description, said, "")
        return known

    def _entry(self, verdict: ResultVerdict) -> ResultEntry:
        folder, runs = verdict.folder, verdict.runs
        convergence = verdict.convergence
        score = verdict.score
        return ResultEntry(
            path=self.tree.place(folder.path),
            submitter=self.tree.submitter,
            system=folder.system,
            benchmark=folder.benchmark,
            division=verdict.division,
            scaling=folder.scaling,
            verdict="rejected" if verdict.rejected else "accepted",
            runs=len(runs),
            failed_runs=verdict.failed_runs,
            minutes=None if score is None else score.minutes,
            score=None if score is None else score.score,
            rcp=None if convergence is None else rcp_entry(convergence),
        )

    def _convergence(self, verdict: ResultVerdict, profile: Profile | None = None) -> Convergence:
        folder, rules = verdict.folder, self.by.rules
        return judge_convergence(
            rules.usage,
            rules.name,
            folder.benchmark,
            [run.facts.run for run in verdict.runs],
            profile or self.by.profile,
            # The verifier takes whatever is not spelt `closed` for another division.
            division=verdict.division if self.by.verifier else verdict.division or None,
            weak=folder.scaling == "weak",
            places=False,
        )


def _passed_over(verdict: SystemVerdict, used: bool, by: JudgingContext) -> bool:
    """Whether the official package checker does not look at what is wrong with a description.

    Before 1.0 it only takes the division of it, where the system has results: without one it ends.
    """
    return by.rules.version < (1, 0) and (verdict.divides or not used)


def rcp_entry(convergence: Convergence) -> RcpEntry:
    """What a report says of a result's convergence."""
    return RcpEntry(
        verdict=convergence.verdict,
        case=convergence.case,
        batch_size=convergence.batch_size,
        mean=convergence.mean,
        minimum=convergence.minimum,
        submission=convergence.submission,
        scaling_factor=convergence.scaling_factor,
    )


def _common_keys(by: JudgingContext) -> frozenset[str]:
    return by.rules.scopes("", "")[0].keys
