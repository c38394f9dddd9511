"""One result: its runs and the values derived from them, each computed once, when it is needed.

The check, a submission's verdict, the score and the test of convergence are views of it.
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
from podium.rules.quirks import QUIRKS, Quirks

if TYPE_CHECKING:
    from podium.compliance.judging.power.check import PowerVerdict

REFUSED = "its log violates rules"


ENERGY_FAULTS = frozenset({"power.no-summary", "power.verifier-crash", "power.no-run-folder"})
"""Rules whose violation means that the official summary has no energy of a run."""


class OfficialEnergy(msgspec.Struct, frozen=True):
    """Joules in the official summary; `gap` is the reason if there are none."""

    joules: float | None
    gap: str = ""


class Run(msgspec.Struct, frozen=True):
    """One checked log of a result: its file, its path in reports, its verdict and its facts.

    `crashes`: the official verifier crashes on it. `fault` is the first rule for which the log
    fails.
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
    """The runs of one benchmark on one system, in natural order, and the rules that apply.

    `points` replace the round's reference points if they are given, `factors` its convention of
    factors.
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
        """The quirks of the profile."""
        return QUIRKS[self.profile]

    @property
    def weak(self) -> bool:
        """Whether these are instances of HPC's throughput metric."""
        return self.place.scaling == "weak"

    @property
    def described_division(self) -> str:
        """The description's division: as spelled for the verifier, otherwise normalized."""
        if self.description is None:
            return ""
        if self.quirks.compares_spelling:
            return str(self.description.given.get("division", ""))
        return self.description.division or ""

    @cached_property
    def division(self) -> str:
        """The division in the description, or else in the logs, or else in 0.6's entry.json."""
        logged_divisions = (run.facts.run.division for run in self.runs)
        stated_division = self.described_division or next(filter(None, logged_divisions), "")
        return stated_division or entry_division(self.place.folder)

    # --- runs ---

    @cached_property
    def counted(self) -> list[RunFacts]:
        """The runs as they count: for the verifier, a run whose log violates rules is the slowest.

        According to the policy, only a run that did not converge may be dropped as the slowest. The
        check reports a log that violates rules; it does not change the time.
        """
        if not self.quirks.drops_refused_runs:
            return [run.facts.run for run in self.runs]
        return [
            replace(run.facts.run, refused=REFUSED) if run.failed else run.facts.run
            for run in self.runs
        ]

    @cached_property
    def chosen(self) -> list[RunFacts]:
        """The runs that make up the result, without the runs outside the scored window."""
        if self.weak:
            return self.counted
        # Time and convergence must use the same window of runs
        parts = zip(self.counted, self._unscaled.runs, strict=True)
        return [run for run, part in parts if part.role != "outside"]

    # --- convergence ---

    @property
    def own_points(self) -> list[Point] | None:
        """The given points for this benchmark; None if the round's points apply."""
        if self.points is None:
            return None
        # A point without a benchmark applies to any
        return [point for point in self.points if point.benchmark in ("", self.place.benchmark)]

    @cached_property
    def convergence(self) -> Convergence:
        """The test of convergence in the arithmetic of the profile."""
        return self._converges(self.profile)

    @cached_property
    def official_convergence(self) -> Convergence:
        """The test of convergence in the official verifier's arithmetic, in either profile."""
        if self.profile is Profile.VERIFIER:
            return self.convergence
        return self._converges(Profile.VERIFIER)

    def _converges(self, profile: Profile) -> Convergence:
        division: str | None = self.division or None
        if self.quirks.compares_spelling and self.place.description is not None:
            # For the verifier, any spelling except `closed` is another division.
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
        """The factor in scaling.json, or None and the error in the file, if any."""
        return read_scaling(self.place.folder)

    @cached_property
    def score(self) -> Score:
        """Time to train, with its factor.

        Since 2.1 the rules scale the score of a result that converges sooner than the reference.
        HPC follows the training rules of its time, so since its 2.0. The scores of published rounds
        are scaled only by scaling.json. The official summary scales by its computed factor in all
        rounds.
        """
        committee, computes = self.committee_factor[0], self.quirks.computes_factors
        factor = choose_factor(
            committee,
            self.convergence,
            normalised=computes or self.rules.package.normalised,
            convention=self.factors
            or ("computed" if computes or not self.rules.published else "published"),
            # Computed only for a file that it may support
            official=None if committee is None or computes else self.official_convergence,
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
        """The spread of the times of the runs that count; None for fewer than two."""
        return spread_of([run for run in self.chosen if run.counts], self.score.needed)

    @cached_property
    def throughput(self) -> Throughput | None:
        """Models per minute of instances; None for a time-to-train result."""
        if not self.weak:
            return None
        rules, description = self.rules, self.description
        scale = (
            None if description is None else description.accelerators or description.number_of_nodes
        )
        return score_throughput(rules.usage, rules.name, self.place.benchmark, self.counted, scale)

    @property
    def minutes(self) -> float | None:
        """The measured time: the mean of the runs, or the interval that contains all instances.

        No factor scales the interval: throughput is not tested for convergence.
        """
        if self.throughput is not None:
            return self.throughput.time_to_train_all
        return self.score.minutes

    @property
    def scaled_minutes(self) -> float | None:
        """The time with which results are compared."""
        return self.minutes if self.weak else self.score.score

    # --- energy ---

    @cached_property
    def power(self) -> PowerVerdict | None:
        """The verdict on its power logs; None if it has none."""
        folder = self.place.folder
        # lexists: a broken link is an error in the power logs, not their absence
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
        nodes = None if self.description is None else self.description.number_of_nodes
        return check_power(folder, powered, nodes, self.rules, self.profile, self.place.display)

    @cached_property
    def energies(self) -> list[float | None]:
        """Joules of each run, None if they are not known."""
        energies = {} if self.power is None else self.power.energies
        return [energies.get(run.path.stem) for run in self.runs]

    @property
    def energy(self) -> float | None:
        """Mean joules of the scored runs, not scaled; None if a run's energy is not known."""
        return olympic_energy(self.score, self.energies)

    @cached_property
    def official_energy(self) -> OfficialEnergy:
        """The energy in the official summary, which is the published energy."""
        if self.power is None:
            return OfficialEnergy(None)
        if self.weak:
            return OfficialEnergy(None, "the official summary has none for throughput results")
        official = self if self.profile is Profile.VERIFIER else self._official()
        joules = official.score.scaled(official.energy)
        if joules is not None:
            return OfficialEnergy(joules)
        if official.score.score is None:
            return OfficialEnergy(None, "the official summary has no score for the result")
        faults = [] if official.power is None else official.power.findings
        messages = (fault.message for fault in faults if fault.id in ENERGY_FAULTS)
        return OfficialEnergy(None, next(messages, "a scored run has no power log of a node"))

    def _official(self) -> Result:
        return Result(
            self.place, self.rules, Profile.VERIFIER, self.runs, self.description, self.points
        )


def entry_division(folder: Path) -> str:
    """The division in entry.json, which 0.6 has next to results in place of a description."""
    try:
        division = small_json(folder.parent / "entry.json")["division"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return division.strip().casefold() if isinstance(division, str) else ""
