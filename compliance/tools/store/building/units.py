"""The unit of what a run converges in, checked by its size against the reference."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from podium.compliance.judging.results.result import Result
from podium.rules.catalogue import rounds_of
from podium.rules.convergence.data import points_of
from podium.rules.convergence.statistics import mean_of

MOST_TIMES = 20.0
"""Times by which a result may differ from the reference: by more, it counts something else."""

ALIKE = 5.0
"""Times by which steps times the batch size may differ from the reference's samples."""


class Converged(msgspec.Struct, frozen=True):
    """How much training the target took, and in which unit."""

    value: float | None
    unit: str


def converged_in(
    result: Result, logged: Converged, batch_size: float | None, zero_based: bool
) -> Converged:
    """What a run or a result converged in, in the unit that its size shows.

    Logs of 0.7 count the steps of BERT where others count samples. What fits no unit is left out:
    a comparison with other results would be nonsense.
    """
    # Models of the open division differ, and so do their references
    if logged.value is None or result.division == "open":
        return logged
    if logged.unit == "epochs" and zero_based:
        return Converged(logged.value + 1, logged.unit)
    usual = _reference(result.rules.usage, result.place.benchmark)
    if logged.unit != "samples" or usual is None or _near(logged.value, usual, MOST_TIMES):
        return logged
    if batch_size and _near(logged.value * batch_size, usual, ALIKE):
        return Converged(logged.value * batch_size, logged.unit)
    return Converged(None, "")


def _near(value: float, usual: float, times: float) -> bool:
    return usual / times <= value <= usual * times


@lru_cache(maxsize=256)
def _reference(usage: str, benchmark: str) -> float | None:
    """The mean of the first points that any round has for a benchmark, in samples."""
    for name in rounds_of(usage):
        means = [
            mean_of(point.to_converge)
            for point in points_of(usage, name, benchmark)
            if point.to_converge
        ]
        if means and max(means) > MOST_EPOCHS:
            return sorted(means)[len(means) // 2]
    return None


MOST_EPOCHS = 10_000
"""Larger means of a reference are samples."""
