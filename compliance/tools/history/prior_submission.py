"""A submission compared with an earlier tree: resubmitted logs, and the systems they ran on.

Source: training rules, Results Resubmission (5.1 and later): a result may be resubmitted if it is
still the submitter's best and the description of its system is the same in both rounds.
`hyperparameter_borrowing` and `preview_followup` have the other comparisons with earlier trees.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.judging.discovery import JudgedFiles
from podium.compliance.judging.inputs.layout import Scaling, Tree
from podium.compliance.judging.inputs.round_selection import Choice, RoundRequest
from podium.compliance.judging.options import Options
from podium.compliance.judging.pipeline import judge_paths
from podium.compliance.judging.results.location import is_pruned, place_of
from podium.compliance.judging.results.model import ResultVerdict
from podium.compliance.judging.results.official import JudgingContext
from podium.compliance.judging.results.result import Run
from podium.compliance.judging.submission.copies import FingerprintIndex
from podium.compliance.judging.systems.organizations import same_organization
from podium.compliance.judging.systems.reader import read_description
from podium.compliance.judging.systems.values import SystemDescription
from podium.compliance.text.words import join_limited
from podium.compliance.tools.history.history_rules import (
    OTHER_SUBMITTER,
    RESUBMITTED,
    SHIFTED_LOG,
    SYSTEM_CHANGED,
    SYSTEM_UNKNOWN,
)
from podium.compliance.tools.history.scale import proven_scale
from podium.compliance.tools.scoring.session import results_of
from podium.rules.convergence.facts import RunFacts
from podium.rules.finding import Finding, Profile, Severity
from podium.rules.model.round import Round


class EarlierRun(msgspec.Struct, frozen=True):
    """A run of an earlier tree: its path, submitter, round and system.

    `described` is the path of the system's `description` as a report shows it.
    """

    display_path: str
    submitter: str
    title: str
    description: Path | None
    described: str


class EarlierResult(msgspec.Struct, frozen=True):
    """A result of an earlier tree whose round is known; `minutes` is its score, if it has one.

    `settings` are the hyperparameters that its first run logs. `joules` is the energy of a scored
    run, if all runs have power logs. `proven` is the scale that its logs prove, including pruned
    ones.
    """

    display_path: str
    submitter: str
    system: str
    benchmark: str
    division: str
    scaling: Scaling
    rules: Round
    description: SystemDescription | None
    minutes: float | None
    settings: dict[str, Any]
    joules: float | None
    proven: float | None


class Earlier(msgspec.Struct):
    """The runs of earlier trees by fingerprint, and their results."""

    runs: FingerprintIndex[EarlierRun] = msgspec.field(default_factory=FingerprintIndex)
    results: list[EarlierResult] = msgspec.field(default_factory=list)


def read_earlier(trees: Sequence[Path], options: Options) -> Earlier:
    """Read the runs and results of earlier trees; each tree is judged by the round that it names.

    Raises UsageFault in the verifier's profile, which does not compare trees; NothingToJudge if a
    tree has no logs.
    """
    if options.profile is Profile.VERIFIER:
        raise UsageFault(
            "--earlier requires --profile policy: the official verifier does not compare trees"
        )
    earlier = Earlier()
    for path in trees:
        # The round of the submission would misjudge the logs of an earlier one
        own_options = replace(options, round=None)
        add_tree(earlier, path, judge_paths([path], own_options), own_options)
    return earlier


def add_tree(
    earlier: Earlier, path: Path, files: JudgedFiles, options: Options, prefix: str | None = None
) -> None:
    """Add a tree whose logs have been judged, with the facts of each log.

    A report shows the paths in it with a prefix, by default the path of the tree.
    """
    prefix = f"{path}/" if prefix is None else prefix
    earlier.results += _results(files, options, prefix)
    # Not strict: the choices of the packages, which are not targets, follow those of the targets
    for (target, judged), choice in zip(files.verdicts(), files.inputs.choices, strict=False):
        facts = judged.verdict.facts
        if facts is None:
            continue
        location = place_of(Path(target.folder), target.display_path)
        description_path = (
            "" if location.description is None else os.path.relpath(location.description, path)
        )
        before = EarlierRun(
            display_path=f"{prefix}{target.display_path}",
            submitter=location.submitter,
            title=_title(choice),
            description=location.description,
            described=f"{prefix}{description_path}",
        )
        earlier.runs.add(facts.fingerprint, before)


def _results(files: JudgedFiles, options: Options, prefix: str) -> Iterator[EarlierResult]:
    request = RoundRequest(options.usage)
    pruned = _pruned(files)
    for result in results_of(files, options):
        location = result.place
        if request.choose(location.folder).chosen_by != "default":
            yield EarlierResult(
                f"{prefix}{location.display_path}",
                location.submitter,
                location.system,
                location.benchmark,
                result.division,
                location.scaling,
                result.rules,
                result.description,
                result.score.score,
                result.runs[0].facts.settings.as_dict(),
                result.score.scaled(result.energy),
                proven_scale(result, pruned[location.folder]),
            )


def _pruned(files: JudgedFiles) -> Mapping[Path, list[RunFacts]]:
    """The runs of instances that throughput results exclude, by the folder of each result."""
    pruned: dict[Path, list[RunFacts]] = defaultdict(list)
    for target, judged in files.verdicts():
        folder, facts = Path(target.folder), judged.verdict.facts
        if is_pruned(os.path.dirname(target.display_path)) and facts is not None:
            pruned[folder.parent].append(facts.run)
    return pruned


def _title(choice: Choice) -> str:
    # The tree does not state a default: naming that round would be a guess
    return "an earlier round" if choice.chosen_by == "default" else choice.rules.title


def resubmitted(
    tree: Tree, results: Sequence[ResultVerdict], earlier: Earlier, context: JudgingContext
) -> Iterator[Finding]:
    """Findings about logs that are also in an earlier tree."""
    compared = set()
    for verdict in results:
        earlier_runs: list[EarlierRun] = []
        for run in verdict.result.runs:
            before, shifted = earlier.runs.find(run.facts.fingerprint)
            if before is None:
                continue
            if shifted:
                yield _shifted(run, before, context)
            else:
                earlier_runs.append(before)
        # Checked first: another submitter's logs are wrong in the same round, too
        yield from _others(tree, verdict, earlier_runs, context)
        # Logs that were first submitted in this round may stay
        earlier_runs = [before for before in earlier_runs if before.title != context.rules.title]
        if earlier_runs:
            yield _again(tree, verdict, earlier_runs, context)
            system = verdict.folder.system
            # Results of many benchmarks share a description: compare it once
            if system not in compared and system in tree.systems:
                compared.add(system)
                yield from _system(tree, system, earlier_runs[0], context)


def _shifted(run: Run, before: EarlierRun, context: JudgingContext) -> Finding:
    return SHIFTED_LOG.found(
        context.profile, run.display_path, before=before.display_path, title=before.title
    )


def _again(
    tree: Tree, verdict: ResultVerdict, earlier_runs: Sequence[EarlierRun], context: JudgingContext
) -> Finding:
    allowed = context.rules.package.resubmission
    return RESUBMITTED.found(
        context.profile,
        tree.place(verdict.folder.path),
        severity=None if allowed else Severity.WARNING,
        count=len(earlier_runs),
        runs=len(verdict.result.runs),
        before=earlier_runs[0].display_path,
        title=earlier_runs[0].title,
        refusal=""
        if allowed
        else f"; {context.rules.title} does not accept logs of earlier rounds",
    )


def _others(
    tree: Tree, verdict: ResultVerdict, earlier_runs: Sequence[EarlierRun], context: JudgingContext
) -> Iterator[Finding]:
    names = {before.submitter for before in earlier_runs if before.submitter}
    others = sorted(name for name in names if not same_organization(name, tree.submitter))
    if others:
        yield OTHER_SUBMITTER.found(
            context.profile,
            tree.place(verdict.folder.path),
            others=join_limited(others),
            submitter=tree.submitter,
        )


def changed_fields(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The fields that differ between two descriptions of a system."""
    # As data: indentation and order of fields do not matter
    return sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))


def _system(
    tree: Tree, system: str, before: EarlierRun, context: JudgingContext
) -> Iterator[Finding]:
    """The description must be the same, field by field."""
    location, then = tree.place(tree.systems[system]), before.description
    if then is None or not then.is_file():
        yield SYSTEM_UNKNOWN.found(context.profile, location, title=before.title, system=system)
        return
    new = tree.root / tree.systems[system]
    changed = changed_fields(read_description(then).fields, read_description(new).fields)
    if changed:
        yield SYSTEM_CHANGED.found(
            context.profile,
            location,
            fields=join_limited(changed),
            then=before.described,
            title=before.title,
        )
