"""A whole submission: every log's verdict, then the package's, by one pass over each file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from compliance.documents import judge_documents
from compliance.facts import Facts
from compliance.hygiene import check_repository
from compliance.judge import LogVerdict
from compliance.package import (
    By,
    ResultVerdict,
    Run,
    copies,
    judge_result,
    judge_tree,
)
from compliance.rcp import judge_convergence
from compliance.report import RcpEntry, ResultEntry, SubmissionEntry
from compliance.scores import Score, choose_factor, score_result
from compliance.seeds import check_seeds
from compliance.system import SystemVerdict, check_system
from compliance.system_agree import LogFacts, agrees_with_folder, agrees_with_logs
from compliance.tree import SCALING_FILE, ResultFolder, Tree
from rules.convergence.result import Convergence
from rules.finding import Finding, Severity
from rules.run import as_number

Verdicts = Callable[[str], LogVerdict | None]
"""The verdict of a log, by its path relative to the submission."""


@dataclass(slots=True)
class Judged:
    """A submission judged: findings beside those of its logs, and an entry for each result.

    `tolerated` are the logs whose failure the result may have: their findings are waived.
    """

    entry: SubmissionEntry
    findings: list[Finding] = field(default_factory=list)
    results: list[ResultEntry] = field(default_factory=list)
    systems: list[tuple[str, bool]] = field(default_factory=list)
    tolerated: set[str] = field(default_factory=set)


def judge_submission(tree: Tree, by: By, verdicts: Verdicts) -> Judged:
    """Judge one submission whose logs are judged already."""
    return _Submission(tree, by, verdicts).judge()


class _Submission:
    def __init__(self, tree: Tree, by: By, verdicts: Verdicts) -> None:
        self.tree, self.by, self.verdicts = tree, by, verdicts
        self.systems: dict[str, SystemVerdict] = {}
        self.findings: list[Finding] = []

    def judge(self) -> Judged:
        tree, by = self.tree, self.by
        self.findings += judge_tree(tree, by)
        for system, path in tree.systems.items():
            self._system(system, path)
        results = [self._result(folder) for folder in tree.results]
        self.findings += copies(((r.shown, r.facts) for v in results for r in v.runs), by)
        self.findings += judge_documents(tree, [(v.folder, v.runs) for v in results], by)
        entries = [self._entry(verdict) for verdict in results]
        hygiene = self._hygiene()
        if (
            not by.verifier
        ):  # the official package checker leaves names and links to another program
            self.findings += hygiene
        rejected = any(f.severity is Severity.ERROR and not f.waived for f in self.findings)
        rejected = rejected or any(verdict.rejected for verdict in results)
        tolerated = {r.shown for v in results for r in v.runs if r.failed and not v.rejected}
        return Judged(
            SubmissionEntry(
                submitter=tree.submitter,
                path=tree.shown or ".",
                verdict="rejected" if rejected else "accepted",
            ),
            [
                *self.findings,
                *(hygiene if by.verifier else ()),
                *(f for verdict in results for f in verdict.findings),
            ],
            entries,
            [(tree.place(p), self.systems[s].passed) for s, p in tree.systems.items()],
            tolerated,
        )

    def _hygiene(self) -> list[Finding]:
        found = check_repository(self.tree.root, self.by.rules, self.by.profile)
        return [replace(finding, path=self.tree.place(finding.path)) for finding in found]

    def _system(self, system: str, path: str) -> None:
        verdict = check_system(
            self.tree.root / path, self.tree.place(path), self.by.rules, self.by.profile
        )
        self.systems[system] = verdict
        self.findings += verdict.findings
        if verdict.description is not None and not self.by.verifier:
            for difference in agrees_with_folder(verdict.description, self.tree.submitter):
                self.findings.append(difference.finding(self.tree.place(path)))

    def _result(self, folder: ResultFolder) -> ResultVerdict:
        runs = [run for path in folder.logs if (run := self._run(path)) is not None]
        described = self.systems.get(folder.system)
        division = self._division(described)
        verdict = judge_result(self.tree, folder, runs, division, self.by)
        seeds = [run.facts.seeds for run in runs]
        weak = folder.scaling == "weak"
        verdict.findings += check_seeds(
            seeds, self.by.rules, division, self.by.profile, None, weak=weak
        )
        if not self.by.verifier and described is not None and described.description:
            verdict.findings += self._agreement(folder, described, runs)
        verdict.convergence = self._convergence(verdict)
        verdict.findings += self._about_convergence(verdict)
        return verdict

    def _about_convergence(self, verdict: ResultVerdict) -> Iterator[Finding]:
        judged = verdict.convergence
        if judged is None or judged.verdict in ("pass", "not_applicable"):
            return
        rule = "rcp.missing" if judged.verdict == "missing" else "rcp.failed"
        yield self.by.finding(
            rule,
            self.tree.place(verdict.folder.path),
            "; ".join(judged.messages) or "the result fails the test of convergence",
            "see `podium rcp check` for the arithmetic",
            expected="" if judged.minimum is None else f"at least {judged.minimum:g}",
            actual=judged.submission,
        )

    def _run(self, path: str) -> Run | None:
        verdict = self.verdicts(path)
        if verdict is None or not isinstance(verdict.facts, Facts):
            return None
        failed = any(f.severity is Severity.ERROR for f in verdict.findings)
        return Run(self.tree.place(path), failed, verdict.facts)

    def _division(self, described: SystemVerdict | None) -> str:
        """The division that decides: as spelt for the verifier, else by its meaning."""
        if described is None or described.description is None:
            return ""
        if self.by.verifier:
            return str(described.description.given.get("division", ""))
        return described.description.division or ""

    def _agreement(
        self, folder: ResultFolder, described: SystemVerdict, runs: list[Run]
    ) -> Iterator[Finding]:
        assert described.description is not None
        told = set()
        for run in runs:
            facts = run.facts
            said = LogFacts(
                facts.run.division,
                facts.org,
                facts.platform,
                facts.status if "submission_status" in _common_keys(self.by) else None,
                facts.nodes,
                facts.accelerators_per_node,
                folder.scaling == "weak",
            )
            for difference in agrees_with_logs(described.description, said):
                # Every run of a result says the same: one finding tells it.
                if (difference.id, difference.actual) not in told:
                    told.add((difference.id, difference.actual))
                    yield difference.finding(run.shown)

    def _entry(self, verdict: ResultVerdict) -> ResultEntry:
        folder, runs = verdict.folder, verdict.runs
        convergence = verdict.convergence
        score = self._score(verdict)
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
            minutes=score.minutes,
            score=score.score,
            rcp=None if convergence is None else rcp_entry(convergence),
        )

    def _score(self, verdict: ResultVerdict) -> Score:
        facts = [
            replace(run.facts.run, refused="its log breaks rules") if run.failed else run.facts.run
            for run in verdict.runs
        ]
        rules = self.by.rules
        factor = choose_factor(self._committee_factor(verdict.folder), verdict.convergence)
        return score_result(
            rules.usage, rules.name, verdict.folder.benchmark, facts, self.by.profile, factor
        )

    def _committee_factor(self, folder: ResultFolder) -> float | None:
        """The factor in scaling.json, by which the committee scales a score."""
        try:
            text = (self.tree.root / folder.path / SCALING_FILE).read_text(encoding="utf-8")
            return as_number(json.loads(text)["scaling_factor"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _convergence(self, verdict: ResultVerdict) -> Convergence | None:
        folder = verdict.folder
        return judge_convergence(
            self.by.rules.usage,
            self.by.rules.name,
            folder.benchmark,
            [run.facts.run for run in verdict.runs],
            self.by.profile,
            division=verdict.division or None,
            weak=folder.scaling == "weak",
        )


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


def _common_keys(by: By) -> frozenset[str]:
    return by.rules.scopes("", "")[0].keys
