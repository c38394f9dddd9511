"""The convergence verdict of a result, and the ranks of its runs."""

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
"""Reasons why a result is not compared: the official verifier crashes, its runs differ, or too many
runs did not converge."""


class RunRank(msgspec.Struct, frozen=True):
    """The rank of a run in its result: 1 converged first.

    `role` says whether the run is scored or dropped as one of the fastest or slowest.
    """

    name: str
    rank: int
    to_converge: float | None
    converged: bool
    role: Role


class Convergence(msgspec.Struct, frozen=True):
    """The convergence verdict of one result, with its calculation.

    `mean`, `minimum`, `deviation` (of the reference) and `submission` (the mean of the kept runs)
    are in `unit`; None if there is nothing to compare. `minimum` includes `allowance`.
    `scaling_factor` multiplies the score: 1 unless the result passes and was faster than the
    reference. `points` are the references in use: one, or two for an interpolation. `other` is the
    verdict of the official verifier if it differs from the policy. `fault` says why nothing is
    compared.
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
        """The distance of the submission's mean above the minimum; negative if below."""
        if self.submission is None or self.minimum is None:
            return None
        return self.submission - self.minimum

    @property
    def maximum_speedup(self) -> float | None:
        """The factor by which the submission may converge faster than the reference."""
        if self.mean is None or self.minimum is None:
            return None
        return maximum_speedup(self.mean, self.minimum)


def places_of(runs: Sequence[RunFacts], drop: int) -> tuple[RunRank, ...]:
    """The rank of each run, in the order of `runs`; runs that did not converge come last."""
    order = sorted(range(len(runs)), key=lambda i: (converged_at(runs[i]), i))
    roles: dict[int, tuple[int, Role]] = {}
    for rank, index in enumerate(order, 1):
        # A failed run counts as a dropped slow run: many published results depend on that
        slow = rank > len(order) - drop
        roles[index] = (rank, "fastest" if rank <= drop else "slowest" if slow else "scored")
    return tuple(
        RunRank(run.name, roles[i][0], run.to_converge, run.converged, roles[i][1])
        for i, run in enumerate(runs)
    )


def converged_at(run: RunFacts, unfinished: float = math.inf) -> float:
    """The position at which the run converged, in its unit; `unfinished` if it did not."""
    return run.to_converge if run.converged and run.to_converge is not None else unfinished
