"""One result's score: its runs' facts to a row, with the arithmetic and the findings behind it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from podium.compliance.inputs.layout import POWER
from podium.compliance.inputs.source_files import small_json
from podium.compliance.logs.facts import Facts
from podium.compliance.results.convergence import judge_convergence
from podium.compliance.results.scaling_file import read_scaling
from podium.compliance.results.score import (
    Score,
    Throughput,
    choose_factor,
    score_result,
    score_throughput,
)
from podium.compliance.results.score_inputs import counted, normalises
from podium.compliance.scoring.location import Place
from podium.compliance.scoring.report import ScoreEntry
from podium.compliance.scoring.row import completed
from podium.rules.convergence.data import Point
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.result import Convergence
from podium.rules.finding import Finding, Profile
from podium.rules.round import Round

if TYPE_CHECKING:
    from podium.compliance.systems.check import SystemDescription


class Member(msgspec.Struct, frozen=True):
    """One log of a result: its file, the path a report shows, whether it breaks rules."""

    path: Path
    display_path: str
    facts: Facts
    broken: bool


class ScoredResult(msgspec.Struct):
    """A row and what it was worked out from; `runs` are in the order of the row's run_list.

    `official` is the convergence by the official verifier's arithmetic, in either profile.
    """

    entry: ScoreEntry
    place: Place
    rules: Round
    profile: Profile
    members: list[Member]
    runs: list[RunFacts]
    score: Score
    throughput: Throughput | None = None
    convergence: Convergence | None = None
    official: Convergence | None = None
    energies: list[float | None] = msgspec.field(default_factory=list)
    power: list[Finding] = msgspec.field(default_factory=list)
    description: SystemDescription | None = None

    @property
    def chosen(self) -> list[RunFacts]:
        """The runs that the result is made of: not those outside the window scored."""
        return [
            run
            for run, part in zip(self.runs, self.score.runs, strict=True)
            if part.role != "outside"
        ]


def work_out(
    place: Place,
    rules: Round,
    members: list[Member],
    profile: Profile,
    description: SystemDescription | None = None,
    points: Sequence[Point] | None = None,
) -> ScoredResult:
    """The row of one result; `points` stand in for the round's reference points."""
    runs = [counted(member.facts, member.broken, profile) for member in members]
    division = _division(description, runs, profile) or entry_division(place)
    weak = place.scaling == "weak"
    named = (rules.usage, rules.name, place.benchmark)
    score = score_result(*named, runs, profile)
    chosen = [
        run for run, part in zip(runs, score.runs, strict=True) if weak or part.role != "outside"
    ]
    convergence, official = (
        judge_convergence(*named, chosen, way, division=division or None, weak=weak, points=points)
        for way in (profile, Profile.VERIFIER)
    )
    implied = convergence if normalises(rules, profile) else None
    score = replace(score, factor=choose_factor(read_scaling(place.folder)[0], implied))
    throughput = None
    if weak:
        throughput = score_throughput(*named, runs, _total_scale(description))
    working = ScoredResult(
        _row(place, rules, division),
        place,
        rules,
        profile,
        members,
        runs,
        score,
        throughput,
        convergence,
        official,
        description=description,
    )
    _measure(working)
    working.entry = completed(working)
    return working


def _division(
    description: SystemDescription | None, runs: Sequence[RunFacts], profile: Profile
) -> str:
    """The description's division: as spelt for the verifier; without one that of the logs."""
    if description is not None and profile is Profile.VERIFIER:
        return str(description.given.get("division", ""))
    if description is not None and description.division:
        return description.division
    return next((run.division for run in runs if run.division), "")


def entry_division(place: Place) -> str:
    """The division by the entry.json that 0.6 had beside its results in place of a description."""
    try:
        division = small_json(place.folder.parent / "entry.json")["division"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return division.strip().casefold() if isinstance(division, str) else ""


def _total_scale(description: SystemDescription | None) -> float | None:
    if description is None:
        return None
    return description.accelerators or description.nodes


def _row(place: Place, rules: Round, division: str) -> ScoreEntry:
    return ScoreEntry(
        submitter=place.submitter,
        system=place.system,
        benchmark=place.benchmark,
        division=division,
        scaling=place.scaling,
        path=place.display_path,
        round=rules.title,
        runs=0,
        converged=0,
        needed=rules.benchmark(place.benchmark).runs,
        dropped=rules.benchmark(place.benchmark).dropped,
    )


def _measure(working: ScoredResult) -> None:
    """Add each run's energy, where the result has power logs."""
    folder, members = working.place.folder, working.members
    working.energies = [None] * len(members)
    if not (folder / POWER).exists():
        return
    from podium.compliance.power.check import PoweredRun, check_power

    stems = [member.path.name.removesuffix(".txt") for member in members]
    powered = [
        PoweredRun(stem, run.start_ms, run.stop_ms)
        for stem, run in zip(stems, working.runs, strict=True)
    ]
    nodes = None if working.description is None else working.description.nodes

    def display_path(path: Path) -> str:
        below = path.relative_to(folder).as_posix()
        return (
            f"{working.place.display_path}/{below}" if working.place.display_path != "." else below
        )

    verdict = check_power(folder, powered, nodes, working.rules, working.profile, display_path)
    working.energies = [verdict.energies.get(stem) for stem in stems]
    working.power = verdict.findings


def by_path(workings: Iterable[ScoredResult]) -> list[ScoredResult]:
    """Rows in the order of their paths."""
    return sorted(workings, key=lambda one: (one.place.display_path, one.place.benchmark))
