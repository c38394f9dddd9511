"""The unit of the training that a run needs, derived from its size and the reference."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from podium.compliance.judging.results.result import Result
from podium.rules.catalogue import rounds_of
from podium.rules.convergence.data import points_of
from podium.rules.convergence.statistics import mean_of

MOST_TIMES = 20.0
"""The largest ratio of a result to the reference; with more, it has another unit."""

ALIKE = 5.0
"""The largest ratio of steps times the batch size to the reference's samples."""


class Converged(msgspec.Struct, frozen=True):
    """The training needed to reach the target, and its unit."""

    value: float | None
    unit: str


def converged_in(
    result: Result, logged: Converged, batch_size: float | None, zero_based: bool
) -> Converged:
    """The training that a run or a result needed, in the unit that matches its size.

    Logs of 0.7 count steps of BERT instead of samples. A value that matches no unit is omitted: it
    could not be compared with other results.
    """
    # Models of the open division differ from the reference
    if logged.value is None or result.division == "open":
        return logged
    if logged.unit == "epochs" and zero_based:
        return Converged(logged.value + 1, logged.unit)
    usual_value = _reference(result.rules.usage, result.place.benchmark)
    if (
        logged.unit != "samples"
        or usual_value is None
        or _near(logged.value, usual_value, MOST_TIMES)
    ):
        return logged
    if batch_size and _near(logged.value * batch_size, usual_value, ALIKE):
        return Converged(logged.value * batch_size, logged.unit)
    return Converged(None, "")


def _near(value: float, usual_value: float, times: float) -> bool:
    return usual_value / times <= value <= usual_value * times


@lru_cache(maxsize=256)
def _reference(usage: str, benchmark: str) -> float | None:
    """The mean of the first reference points of any round for a benchmark, in samples."""
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
