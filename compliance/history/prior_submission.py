"""A submission beside an earlier tree: logs handed in again, and the systems they ran on.

Source: training rules, Results Resubmission (5.1 and later): a result may be handed in again where
it still is the submitter's best, and the description of its system is the same in both rounds.
What else an earlier tree tells is in `borrowing` and `preview`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from podium.compliance.checking.session import DiscoveredInputs, Options, gather
from podium.compliance.errors import UsageFault
from podium.compliance.inputs.layout import Scaling, Tree
from podium.compliance.inputs.round_selection import Choice, RoundRequest
from podium.compliance.results.consistency import FingerprintIndex
from podium.compliance.results.location import place_of
from podium.compliance.results.model import JudgingContext, ResultVerdict, join_limited
from podium.compliance.results.result import Run
from podium.compliance.scoring.session import results_of
from podium.compliance.systems.agreement import same_organisation
from podium.compliance.systems.document import read_description
from podium.compliance.systems.values import SystemDescription
from podium.rules.finding import Finding, Profile, StatedBy
from podium.rules.round import Round


class Before(msgspec.Struct, frozen=True):
    """A run of an earlier tree: where it lies, whose it is, of which round and on what system."""

    display_path: str
    submitter: str
    title: str
    description: Path | None


class EarlierResult(msgspec.Struct, frozen=True):
    """A result of an earlier tree whose round is known; `minutes` is its score, if it has one.

    `settings` are the hyperparameters that its first run logs, `joules` is what a scored run takes
    where all have power logs.
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


class Earlier(msgspec.Struct):
    """The runs of earlier trees by their marks, and their results."""

    runs: FingerprintIndex[Before] = msgspec.field(default_factory=FingerprintIndex)
    results: list[EarlierResult] = msgspec.field(default_factory=list)


def read_earlier(trees: Sequence[Path], options: Options) -> Earlier:
    """The runs of earlier trees; each tree is of the round that it says itself.

    Raises UsageFault in the verifier's profile, which compares no trees; NothingToJudge where a
    tree holds no logs.
    """
    if options.profile is Profile.VERIFIER:
        raise UsageFault(
            "--earlier goes with --profile policy: the official verifier compares no trees"
        )
    earlier = Earlier()
    for path in trees:
        alone = replace(options, round=None)
        gathered = gather([path], alone, for_scores=True)
        earlier.results += _results(gathered, alone, path)
        for target, choice in zip(gathered.targets, gathered.choices, strict=False):
            facts = gathered.judged[target.path].verdict.facts
            if facts is None:
                continue
            place = place_of(Path(target.folder), target.display_path)
            display_path = f"{path}/{target.display_path}"
            before = Before(display_path, place.submitter, _title(choice), place.description)
            earlier.runs.add(facts.fingerprint, before)
    return earlier


def _results(gathered: DiscoveredInputs, options: Options, path: Path) -> Iterator[EarlierResult]:
    wish = RoundRequest(options.usage)
    for result in results_of(gathered, options):
        place = result.place
        if wish.choose(place.folder).chosen_by != "default":
            yield EarlierResult(
                f"{path}/{place.display_path}",
                place.submitter,
                place.system,
                place.benchmark,
                result.division,
                place.scaling,
                result.rules,
                result.description,
                result.score.score,
                result.runs[0].facts.settings.as_dict(),
                result.score.scaled(result.energy),
            )


def _title(choice: Choice) -> str:
    return "an earlier round" if choice.chosen_by == "default" else choice.rules.title


def resubmitted(
    tree: Tree, results: Sequence[ResultVerdict], earlier: Earlier, by: JudgingContext
) -> Iterator[Finding]:
    """What is to be told of logs that an earlier tree held already."""
    compared = set()
    for verdict in results:
        again: list[Before] = []
        for run in verdict.result.runs:
            before, shifted = earlier.runs.find(run.facts.fingerprint)
            if before is None:
                continue
            if shifted:
                yield _shifted(run, before, by)
            else:
                again.append(before)
        yield from _others(tree, verdict, again, by)
        # What was handed in first in this very round may of course stay.
        again = [before for before in again if before.title != by.rules.title]
        if again:
            yield _again(tree, verdict, again, by)
            system = verdict.folder.system
            if system not in compared and system in tree.systems:
                compared.add(system)
                yield from _system(tree, system, again[0], by)


def _shifted(run: Run, before: Before, by: JudgingContext) -> Finding:
    return by.finding(
        "earlier.shifted-log",
        run.display_path,
        f"this log is that of {before.display_path} ({before.title}) at another time; a log "
        "may be handed "
        "in again, but as it was",
        "hand in the log of a run of its own, or the earlier one unchanged",
        stated_by=StatedBy.POLICY,
    )


def _again(
    tree: Tree, verdict: ResultVerdict, again: Sequence[Before], by: JudgingContext
) -> Finding:
    told = (
        f"{len(again)} of {len(verdict.result.runs)} runs were handed in before, as "
        f"{again[0].display_path} "
    )
    told += f"({again[0].title})"
    allowed = by.rules.package.resubmission
    return by.finding(
        "earlier.resubmitted",
        tree.place(verdict.folder.path),
        told if allowed else f"{told}; {by.rules.title} takes no logs of earlier rounds",
        "tell the committee before the first review meeting"
        if allowed
        else "hand in runs made for this round",
        stated_by=StatedBy.POLICY,
        note=allowed,
    )


def _others(
    tree: Tree, verdict: ResultVerdict, again: Sequence[Before], by: JudgingContext
) -> Iterator[Finding]:
    names = {before.submitter for before in again if before.submitter}
    others = sorted(name for name in names if not same_organisation(name, tree.submitter))
    if others:
        yield by.finding(
            "earlier.other-submitter",
            tree.place(verdict.folder.path),
            f"runs of {join_limited(others)} are handed in by {tree.submitter}; "
            "must be the submitter's own",
            "hand in runs of your own",
            stated_by=StatedBy.POLICY,
        )


def changed_fields(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The fields that two descriptions of a system do not share."""
    return sorted(key for key in then.keys() | now.keys() if then.get(key) != now.get(key))


def _system(tree: Tree, system: str, before: Before, by: JudgingContext) -> Iterator[Finding]:
    """The description must be the same, field by field."""
    where, then = tree.place(tree.systems[system]), before.description
    if then is None or not then.is_file():
        yield by.finding(
            "earlier.system-unknown",
            where,
            f"logs of {before.title} are handed in again, but the earlier tree has no description "
            f"of their system to compare {system} with",
            "give --earlier the whole earlier tree",
            stated_by=StatedBy.POLICY,
            note=True,
        )
        return
    new = tree.root / tree.systems[system]
    changed = changed_fields(read_description(then).fields, read_description(new).fields)
    if changed:
        yield by.finding(
            "earlier.system-changed",
            where,
            f"{join_limited(changed)} differ from {then}; must be the same, "
            f"as logs of {before.title} are handed in again",
            "hand in the earlier description unchanged, or new runs",
            stated_by=StatedBy.POLICY,
        )
