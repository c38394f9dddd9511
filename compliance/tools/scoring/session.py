"""`podium score`: time to train, throughput and energy of all results below a path."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from podium.compliance.judging.discovery import JudgedFiles
from podium.compliance.judging.files import FileVerdict
from podium.compliance.judging.inputs.layout import natural
from podium.compliance.judging.inputs.round_selection import RoundRequest, rules_of
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import judge_paths
from podium.compliance.judging.results.factor import Convention
from podium.compliance.judging.results.location import filled, is_pruned, place_of, result_around
from podium.compliance.judging.results.result import Result, Run
from podium.compliance.judging.systems.check import describe, read_description
from podium.compliance.tools.scoring.findings import findings_of
from podium.compliance.tools.scoring.report import Scores
from podium.compliance.tools.scoring.row import ScoredResult, by_path, scored
from podium.compliance.tools.scoring.score_rules import TIME_UNIT, UNCOUNTED_LOGS
from podium.compliance.tools.scoring.uncounted import uncounted_logs
from podium.rules.catalogue import normal_name
from podium.rules.convergence.data import Point
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.systems.check import SystemDescription


_FIRST = (TIME_UNIT.id, UNCOUNTED_LOGS.id)


def score(
    path: Path | str,
    *,
    round: str | float | None = None,  # noqa: A002 - the contract's name
    usage: str | None = None,
    profile: Literal["policy", "verifier"] | Profile = Profile.POLICY,
    jobs: int = 1,
    factors: Convention | None = None,
) -> Scores:
    """Score all results below a path: a log, the folder of a result, a submission or a round.

    `factors` is the source of factors. `published` means scaling.json only. `computed` means
    scaling.json or, without one, the reference points. None selects the convention of the round.

    Raises ComplianceError (UsageFault, NothingToJudge) for invalid arguments. For a result without
    a score, `minutes` is None, and a finding has the reason.
    """
    options = Options(
        usage=usage,
        round=None if round is None else normal_name(round),
        profile=Profile(profile),
        jobs=jobs,
        factors=factors,
    )
    return scores_of(judge_paths([Path(path)], options), options)


def scores_of(files: JudgedFiles, options: Options) -> Scores:
    """The scores of checked logs, with the facts of each."""
    return report_of(files, options, scored_results(files, options))


def report_of(files: JudgedFiles, options: Options, scored: Sequence[ScoredResult]) -> Scores:
    """The report from rows."""
    findings = [finding for row in scored for finding in findings_of(row)]
    findings += _broken_files(files)
    findings += uncounted_logs(files.inputs, options)
    # Times in another unit make all scores meaningless; an uncounted log may be the cause of others
    findings.sort(key=lambda finding: (finding.id not in _FIRST, finding.sort_key()))
    selected = [finding for finding in findings if options.wants(finding.id)]
    return Scores(
        rules=rules_of(files.inputs.choices, options.profile),
        results=[row.entry for row in scored],
        findings=selected,
    )


def scored_results(
    files: JudgedFiles, options: Options, points: Sequence[Point] | None = None
) -> list[ScoredResult]:
    """All results among the logs with their rows, sorted by path."""
    return by_path(scored(result) for result in results_of(files, options, points))


def results_of(
    files: JudgedFiles, options: Options, points: Sequence[Point] | None = None
) -> Iterator[Result]:
    """All results among the logs; `points` replace the reference points of the rounds."""
    wish = RoundRequest(options.usage, options.round)
    # A system has a folder for each benchmark, and one description for all of them
    cached_description = cache(_description)
    for folder, display_path, judged in _folders(files):
        # A path may contain several rounds: each folder is scored with the rules of its round
        rules = wish.choose(folder).rules
        runs = [_run(verdict) for verdict in judged]
        for group in _groups(runs, Path(folder).absolute().name, rules):
            location = filled(place_of(Path(folder), display_path), (r.facts for r in group), rules)
            description = cached_description(location.description)
            yield Result(
                location, rules, options.profile, group, description, points, options.factors
            )


def _folders(files: JudgedFiles) -> Iterator[tuple[str, str, list[FileVerdict]]]:
    """Folders with logs: the folder, its path in reports, its logs in natural order."""
    folders: dict[str, dict[str, FileVerdict]] = {}
    display_path: dict[str, str] = {}
    for target, judged in files.verdicts():
        if judged.kind != "log" or not isinstance(judged.verdict.facts, Facts):
            continue
        # HPC rules: a pruned instance is submitted and checked, but is not part of the result
        if is_pruned(os.path.dirname(target.display_path)):
            continue
        folders.setdefault(target.folder, {})[os.path.basename(target.path)] = judged
        display_path.setdefault(target.folder, os.path.dirname(target.display_path) or ".")
    for folder, logs in folders.items():
        if _stray(folder, folders, files):
            continue
        # In natural order, result_10 comes after result_9, not after result_1
        yield folder, display_path[folder], [logs[name] for name in natural(list(logs))]


def _stray(folder: str, folders: Collection[str], files: JudgedFiles) -> bool:
    """Whether logs are in a subfolder of a result, and so not a result of a submission."""
    result = result_around(Path(folder))
    if result is None:
        return False
    # If the user named this folder, its logs are loose logs
    submitted = any(
        result.is_relative_to(package.root.absolute()) for package in files.inputs.packages
    )
    return submitted or any(Path(path).absolute() == result for path in folders)


def _run(judged: FileVerdict) -> Run:
    assert isinstance(judged.verdict.facts, Facts)
    failed = any(finding.severity is Severity.ERROR for finding in judged.verdict.findings)
    return Run(Path(judged.path), judged.display_path, failed, judged.verdict.facts)


def _groups(runs: list[Run], folder: str, rules: Round) -> list[list[Run]]:
    """The logs of a folder by result; only loose logs of several benchmarks have several groups."""
    # The folder decides: a log with a wrong benchmark name is still one of its runs
    if folder in rules.benchmarks:
        return [runs]
    groups: dict[str | None, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.facts.run.benchmark, []).append(run)
    # A log without a benchmark name could belong to any group: do not guess
    if len(groups) > 1 and None in groups:
        return [runs]
    return list(groups.values())


def _description(path: Path | None) -> SystemDescription | None:
    if path is None or not path.is_file():
        return None
    document = read_description(path)
    return describe(document.fields) if document.is_object else None


def _broken_files(files: JudgedFiles) -> Iterator[Finding]:
    """Findings of logs on which podium failed; such logs have no facts."""
    for judged in files.files.values():
        if judged.kind == "log" and not isinstance(judged.verdict.facts, Facts):
            yield from judged.verdict.findings
