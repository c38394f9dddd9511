"""One result's score: its runs' facts to a row, with the arithmetic and the findings behind it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compliance.facts import Facts
from compliance.rcp import judge_convergence
from compliance.score_place import Place
from compliance.score_report import RunEntry, ScoreEntry, SpreadEntry
from compliance.scores import (
    Score,
    Throughput,
    choose_factor,
    final_quality,
    olympic_energy,
    score_result,
    score_throughput,
)
from compliance.submission import rcp_entry
from compliance.tree import POWER, SCALING_FILE
from rules.convergence.data import Point
from rules.convergence.facts import RunFacts
from rules.convergence.result import Convergence
from rules.convergence.runs import dropped_of, needed_runs
from rules.convergence.statistics import olympic_mean
from rules.finding import Finding, Profile
from rules.round import Round
from rules.run import as_number

if TYPE_CHECKING:
    from compliance.system import SystemDescription

REFUSED = "its log breaks rules"


@dataclass(frozen=True, slots=True)
class Member:
    """One log of a result: its file, the path a report shows, whether it breaks rules."""

    path: Path
    shown: str
    facts: Facts
    broken: bool


@dataclass(slots=True)
class Working:
    """A row and what it was worked out from; `runs` are in the order of the row's run_list."""

    entry: ScoreEntry
    place: Place
    rules: Round
    members: list[Member]
    runs: list[RunFacts]
    score: Score
    throughput: Throughput | None = None
    convergence: Convergence | None = None
    energies: list[float | None] = field(default_factory=list)
    power: list[Finding] = field(default_factory=list)

    @property
    def chosen(self) -> list[RunFacts]:
        """The runs that the result is made of: not those outside the window scored."""
        return [
            run
            for run, part in zip(self.runs, self.score.runs, strict=True)
            if part.role != "outside"
        ]


def counted(facts: Facts, broken: bool, profile: Profile) -> RunFacts:
    """A run as it counts: the verifier takes one whose log breaks rules for the slowest.

    By the policy only a run that did not converge may be dropped as the slowest; that a log breaks
    rules is for the check to say, and does not change the time.
    """
    if broken and profile is Profile.VERIFIER:
        return replace(facts.run, refused=REFUSED)
    return facts.run


def normalises(rules: Round, profile: Profile) -> bool:
    """Whether a score is scaled for converging sooner than the reference: rules since 2.1.

    HPC follows the training rules of its day, so since its 2.0. The official tools do it always.
    """
    if profile is Profile.VERIFIER:
        return True
    first = (2, 0) if rules.usage == "hpc" else (2, 1)
    return tuple(int(part) for part in rules.name.split(".")[:2]) >= first


def committee_factor(folder: Path) -> float | None:
    """The factor in a result's scaling.json, by which the committee scales a score."""
    try:
        text = (folder / SCALING_FILE).read_text(encoding="utf-8")
        return as_number(json.loads(text)["scaling_factor"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def work_out(
    place: Place,
    rules: Round,
    members: list[Member],
    profile: Profile,
    description: SystemDescription | None = None,
    points: Sequence[Point] | None = None,
) -> Working:
    """The row of one result; `points` stand in for the round's reference points."""
    runs = [counted(member.facts, member.broken, profile) for member in members]
    division = _division(description, runs)
    weak = place.scaling == "weak"
    named = (rules.usage, rules.name, place.benchmark)
    score = score_result(*named, runs, profile)
    chosen = [
        run for run, part in zip(runs, score.runs, strict=True) if weak or part.role != "outside"
    ]
    convergence = judge_convergence(
        *named, chosen, profile, division=division or None, weak=weak, points=points
    )
    implied = convergence if normalises(rules, profile) else None
    score = replace(score, factor=choose_factor(committee_factor(place.folder), implied))
    throughput = None
    if weak:
        throughput = score_throughput(*named, runs, _total_scale(description))
    working = Working(
        _row(place, rules, division), place, rules, members, runs, score, throughput, convergence
    )
    _measure(working, profile, description)
    working.entry = _completed(working)
    return working


def _division(description: SystemDescription | None, runs: Sequence[RunFacts]) -> str:
    if description is not None and description.division:
        return description.division
    return next((run.division for run in runs if run.division), "")


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
        path=place.shown,
        round=rules.title,
        runs=0,
        converged=0,
        needed=needed_runs(rules.usage, rules.name, place.benchmark),
        dropped=dropped_of(place.benchmark),
    )


def _measure(working: Working, profile: Profile, description: SystemDescription | None) -> None:
    """Add each run's energy, where the result has power logs."""
    folder, members = working.place.folder, working.members
    working.energies = [None] * len(members)
    if not (folder / POWER).exists():
        return
    from compliance.power import PoweredRun, check_power

    stems = [member.path.name.removesuffix(".txt") for member in members]
    powered = [
        PoweredRun(stem, run.start_ms, run.stop_ms)
        for stem, run in zip(stems, working.runs, strict=True)
    ]
    nodes = None if description is None else description.nodes

    def shown(path: Path) -> str:
        below = path.relative_to(folder).as_posix()
        return f"{working.place.shown}/{below}" if working.place.shown != "." else below

    verdict = check_power(folder, powered, nodes, working.rules, profile, shown)
    working.energies = [verdict.energies.get(stem) for stem in stems]
    working.power = verdict.findings


def _completed(working: Working) -> ScoreEntry:
    score, runs, convergence = working.score, working.runs, working.convergence
    sizes = {run.batch_size for run in runs}
    weak = working.throughput is not None
    energy = _energy(working)
    found: dict[str, Any] = {
        "runs": len(runs),
        "converged": sum(run.converged for run in runs),
        "batch_size": next(iter(sizes)) if len(sizes) == 1 else None,
        "unit": next((run.unit for run in runs), "epochs"),
        "to_converge": _mean_convergence(working),
        "energy_joules": energy,
        "run_list": _run_list(working),
        "rcp": None if convergence is None else rcp_entry(convergence),
    }
    if working.entry.division == "open":
        found["quality"] = final_quality(runs)
    if weak:
        return working.entry.model_copy(update={**found, **_throughput(working)})
    factor = score.factor
    found |= {
        "minutes": score.minutes,
        "factor": factor.value,
        "factor_source": factor.source,
        "score": score.score,
        "scaled_energy_joules": None if energy is None else energy * factor.value,
        "spread": _spread(score),
    }
    return working.entry.model_copy(update=found)


def _throughput(working: Working) -> dict[str, Any]:
    throughput = working.throughput
    assert throughput is not None
    return {
        "models": throughput.models,
        "instance_scale": throughput.instance_scale,
        "total_scale": throughput.total_scale,
        "time_to_train_all": throughput.time_to_train_all,
        "models_per_minute": throughput.models_per_minute,
    }


def _energy(working: Working) -> float | None:
    """Of runs the mean of those scored; of instances, all of which count, the sum."""
    if working.throughput is None:
        return olympic_energy(working.score, working.energies)
    known = [joules for joules in working.energies if joules is not None]
    return math.fsum(known) if known and len(known) == len(working.energies) else None


def _mean_convergence(working: Working) -> float | None:
    convergence = working.convergence
    if convergence is not None and convergence.submission is not None:
        return convergence.submission
    runs = working.runs if working.throughput is not None else working.chosen
    drop = working.score.dropped
    values = [
        run.to_converge if run.converged and run.to_converge is not None else math.inf
        for run in runs
    ]
    mean = olympic_mean(values, drop) if len(values) > 2 * drop else math.nan
    return mean if math.isfinite(mean) else None


def _spread(score: Score) -> SpreadEntry | None:
    spread = score.spread
    if spread is None:
        return None
    return SpreadEntry(
        mean=spread.mean,
        deviation=spread.deviation,
        relative=spread.relative,
        usual=spread.usual,
        outliers=list(spread.outliers),
    )


def _run_list(working: Working) -> list[RunEntry]:
    weak = working.throughput is not None
    return [
        RunEntry(
            path=member.shown,
            minutes=run.minutes,
            converged=run.converged,
            scored=run.counts if weak else part.role == "scored",
            role="instance" if weak else part.role,
            why="" if weak else part.why,
            start_ms=run.start_ms,
            stop_ms=run.stop_ms,
            init_minutes=run.init_minutes,
            staging_minutes=run.staging_minutes,
            to_converge=run.to_converge,
            batch_size=run.batch_size,
            quality=run.quality,
            energy_joules=energy,
            seed=list(run.seeds),
        )
        for member, run, part, energy in zip(
            working.members, working.runs, working.score.runs, working.energies, strict=True
        )
    ]


def by_path(workings: Iterable[Working]) -> list[Working]:
    """Rows in the order of their paths."""
    return sorted(workings, key=lambda one: (one.place.shown, one.place.benchmark))
