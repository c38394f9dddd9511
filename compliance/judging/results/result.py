"""One result: its runs, and what follows from them, each worked out once, when it is asked for.

The check, a package's verdict, the score and the test of convergence are views of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from podium.compliance.judging.inputs.layout import POWER
from podium.compliance.judging.inputs.source_files import small_json
from podium.compliance.judging.logs.facts import Facts
from podium.compliance.judging.results.convergence import judge_convergence
from podium.compliance.judging.results.factor import Convention, choose_factor, read_scaling
from podium.compliance.judging.results.location import ResultLocation
from podium.compliance.judging.results.score import (
    Score,
    Throughput,
    olympic_energy,
    score_result,
    score_throughput,
)
from podium.compliance.judging.systems.values import SystemDescription
from podium.rules.convergence.data import Point
from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.result import Convergence
from podium.rules.convergence.spread import Spread, spread_of
from podium.rules.finding import Profile
from podium.rules.model.round import Round
from podium.rules.quirks import Quirks, quirks_of

if TYPE_CHECKING:
    from podium.compliance.judging.power.check import PowerVerdict

REFUSED = "its log breaks rules"


class Run(msgspec.Struct, frozen=True):
    """One log of a result, judged: its file, the path a report shows, its verdict, its facts.

    `crashes`: the official verifier ends without a verdict on it. `fault` is the rule for which its
    log fails first.
    """

    path: Path
    display_path: str
    failed: bool
    facts: Facts
    crashes: bool = False
    fault: str = ""

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.path.name


class Result(msgspec.Struct, dict=True):
    """The runs of one benchmark on one system, in counting order, and the rules they are under.

    `points` stand in for the round's reference points where they are given, `factors` for its
    convention of factors.
    """

    place: ResultLocation
    rules: Round
    profile: Profile
    runs: list[Run]
    description: SystemDescription | None = None
    points: Sequence[Point] | None = None
    factors: Convention | None = None

    @property
    def quirks(self) -> Quirks:
        """What the text that it is judged by does differently."""
        return quirks_of(self.profile)

    @property
    def weak(self) -> bool:
        """Whether these are instances of HPC's throughput metric."""
        return self.place.scaling == "weak"

    @property
    def described_division(self) -> str:
        """The description's division: as spelled for the verifier, else by its meaning."""
        if self.description is None:
            return ""
        if self.quirks.compares_spelling:
            return str(self.description.given.get("division", ""))
        return self.description.division or ""

    @cached_property
    def division(self) -> str:
        """The description's division; without one that of the logs, else of 0.6's entry.json."""
        logged = (run.facts.run.division for run in self.runs)
        stated = self.described_division or next(filter(None, logged), "")
        return stated or entry_division(self.place.folder)

    # --- runs ---

    @cached_property
    def counted(self) -> list[RunFacts]:
        """The runs as they count: the verifier takes one whose log breaks rules for the slowest.

        By the policy only a run that did not converge may be dropped as the slowest; that a log
        breaks rules is for the check to say, and does not change the time.
        """
        if not self.quirks.drops_refused_runs:
            return [run.facts.run for run in self.runs]
        return [
            replace(run.facts.run, refused=REFUSED) if run.failed else run.facts.run
            for run in self.runs
        ]

    @cached_property
    def chosen(self) -> list[RunFacts]:
        """The runs that the result is made of: not those outside the window scored."""
        if self.weak:
            return self.counted
        # Time and convergence must be those of the same window of runs
        parts = zip(self.counted, self._unscaled.runs, strict=True)
        return [run for run, part in parts if part.role != "outside"]

    # --- convergence ---

    @property
    def own_points(self) -> list[Point] | None:
        """The points given that are of this benchmark; None where the round's own hold."""
        if self.points is None:
            return None
        # A point that names no benchmark is of any
        return [point for point in self.points if point.benchmark in ("", self.place.benchmark)]

    @cached_property
    def convergence(self) -> Convergence:
        """The test of convergence, by the arithmetic of the profile."""
        return self._converges(self.profile)

    @cached_property
    def official_convergence(self) -> Convergence:
        """The test of convergence by the official verifier's arithmetic, in either profile."""
        if self.profile is Profile.VERIFIER:
            return self.convergence
        return self._converges(Profile.VERIFIER)

    def _converges(self, profile: Profile) -> Convergence:
        division: str | None = self.division or None
        if self.quirks.compares_spelling and self.place.description is not None:
            # What a description does not spell `closed` is another division to the verifier.
            division = self.described_division
        return judge_convergence(
            self.rules,
            self.place.benchmark,
            self.chosen,
            profile,
            division=division,
            weak=self.weak,
            points=self.own_points,
        )

    # --- score ---

    @cached_property
    def committee_factor(self) -> tuple[float | None, str]:
        """The factor in scaling.json, or None and what is wrong with the file, if it is."""
        return read_scaling(self.place.folder)

    @cached_property
    def score(self) -> Score:
        """Time to train, with the factor on it."""
        committee = self.committee_factor[0]
        compared = committee is not None and not self.quirks.computes_factors
        factor = choose_factor(
            committee,
            self.convergence,
            normalised=normalises(self.rules, self.profile),
            convention=self.factors or usual_factors(self.rules, self.profile),
            # Worked out only for the file that it may support
            official=self.official_convergence if compared else None,
        )
        return replace(self._unscaled, factor=factor)

    @cached_property
    def _unscaled(self) -> Score:
        rules = self.rules
        return score_result(
            rules.usage, rules.name, self.place.benchmark, self.counted, self.profile
        )

    @cached_property
    def spread(self) -> Spread | None:
        """How far the times of the runs that count lie apart; None for fewer than two."""
        return spread_of([run for run in self.chosen if run.counts], self.score.needed)

    @cached_property
    def throughput(self) -> Throughput | None:
        """Models per minute, of instances; None for a result that is timed."""
        if not self.weak:
            return None
        rules, described = self.rules, self.description
        scale = None if described is None else described.accelerators or described.nodes
        return score_throughput(rules.usage, rules.name, self.place.benchmark, self.counted, scale)

    @property
    def minutes(self) -> float | None:
        """The time measured: the mean of the runs, of instances the interval that all of them take.

        No factor scales the interval: throughput is not tested for convergence.
        """
        if self.throughput is not None:
            return self.throughput.time_to_train_all
        return self.score.minutes

    @property
    def scaled_minutes(self) -> float | None:
        """The time that results are compared by."""
        return self.minutes if self.weak else self.score.score

    # --- energy ---

    @cached_property
    def power(self) -> PowerVerdict | None:
        """What its power logs say; None where it has none."""
        folder = self.place.folder
        # lexists: a link that leads nowhere is a fault of the power logs, not their absence
        if not os.path.lexists(folder / POWER):
            return None
        from podium.compliance.judging.power.check import (  # few results have logs
            PoweredRun,
            check_power,
        )

        powered = [
            PoweredRun(run.path.stem, run.facts.run.start_ms, run.facts.run.stop_ms)
            for run in self.runs
        ]
        nodes = None if self.description is None else self.description.nodes
        return check_power(folder, powered, nodes, self.rules, self.profile, self.place.display)

    @cached_property
    def energies(self) -> list[float | None]:
        """Joules of each run, None where they are not known."""
        known = {} if self.power is None else self.power.energies
        return [known.get(run.path.stem) for run in self.runs]

    @property
    def energy(self) -> float | None:
        """Joules that a scored run takes on average, not scaled; None where one is not known."""
        return olympic_energy(self.score, self.energies)


def normalises(rules: Round, profile: Profile) -> bool:
    """Whether a score is scaled for converging sooner than the reference: rules since 2.1.

    HPC follows the training rules of its day, so since its 2.0. The official tools do it always.
    """
    return quirks_of(profile).computes_factors or rules.package.normalised


def usual_factors(rules: Round, profile: Profile) -> Convention:
    """The convention of factors of a round: its published results are scaled by scaling.json alone.

    The official summary scales by what it computes, in all rounds.
    """
    computes = quirks_of(profile).computes_factors or not rules.published
    return "computed" if computes else "published"


def entry_division(folder: Path) -> str:
    """The division by the entry.json that 0.6 had beside its results in place of a description."""
    try:
        division = small_json(folder.parent / "entry.json")["division"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return division.strip().casefold() if isinstance(division, str) else ""
