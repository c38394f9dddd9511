"""The judgement of a result's convergence, and the places of its runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from podium.rules.convergence.facts import RunFacts
from podium.rules.convergence.method import Case, Reference
from podium.rules.convergence.statistics import maximum_speedup
from podium.rules.model.benchmark import Unit

Verdict = Literal["pass", "fail", "missing", "not_applicable"]

Role = Literal["scored", "fastest", "slowest"]

Fault = Literal["", "crash", "mixed", "unfinished"]
"""Why a result is not compared: the official verifier ends in a traceback, its runs are not of one
kind, or too many did not converge."""


class RunRank(msgspec.Struct, frozen=True):
    """A run's place among those of its result: 1 converged first.

    `role` is why it is left out of the mean: among the fastest or the slowest dropped.
    """

    name: str
    rank: int
    to_converge: float | None
    converged: bool
    role: Role


class Convergence(msgspec.Struct, frozen=True):
    """The judgement of one result, with the arithmetic behind it.

    `mean`, `minimum`, `deviation` (of the reference) and `submission` (the mean of the runs
    kept) are in `unit`; None where there is nothing to compare. `minimum` includes `allowance`.
    `scaling_factor` multiplies the score: 1 unless the result passes and was faster than the
    reference. `points` are the references used: one, or the two interpolated between.
    `other` is the judgement by the official verifier where the policy's comes out differently.
    `fault` says why nothing is compared.
    """

    verdict: Verdict
    case: Case = "none"
    batch_size: float | None = None
    mean: float | None = None
    minimum: float | None = None
    submission: float | None = None
    scaling_factor: float = 1.0
    unit: Unit = "epochs"
    deviation: float | None = None
    allowance: float = 0.0
    points: tuple[Reference, ...] = ()
    pruned: tuple[Reference, ...] = ()
    runs: tuple[RunRank, ...] = ()
    messages: tuple[str, ...] = ()
    other: Convergence | None = None
    fault: Fault = ""

    @property
    def margin(self) -> float | None:
        """By how much the submission's mean is above the minimum; below it where negative."""
        if self.submission is None or self.minimum is None:
            return None
        return self.submission - self.minimum

    @property
    def maximum_speedup(self) -> float | None:
        """By what factor the submission may converge faster than the reference."""
        if self.mean is None or self.minimum is None:
            return None
        return maximum_speedup(self.mean, self.minimum)


def places_of(runs: Sequence[RunFacts], drop: int) -> tuple[RunRank, ...]:
    """Each run's place, in the order given; runs that did not converge come last."""
    order = sorted(range(len(runs)), key=lambda i: (converged_at(runs[i]), i))
    roles: dict[int, tuple[int, Role]] = {}
    for rank, index in enumerate(order, 1):
        # A failed run is used up as a dropped slow one: many published results depend on that
        late = rank > len(order) - drop
        roles[index] = (rank, "fastest" if rank <= drop else "slowest" if late else "scored")
    return tuple(
        RunRank(run.name, roles[i][0], run.to_converge, run.converged, roles[i][1])
        for i, run in enumerate(runs)
    )


def converged_at(run: RunFacts, unfinished: float = math.inf) -> float:
    """When the run converged, in its unit; `unfinished` where it did not."""
    return run.to_converge if run.converged and run.to_converge is not None else unfinished
