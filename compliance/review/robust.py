"""Statistics that a few odd values do not move: distances from the median."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from podium.rules.convergence.spread import MAD_TO_DEVIATION

LEAST_RELATIVE = 0.02
"""Deviation, as a share of the median, that is assumed at the least: equal values say nothing of
how far apart the next one may be."""


def robust_z(values: Sequence[float]) -> list[float]:
    """How many deviations, as the median distance estimates them, each value is off the median.

    The deviation is at least `LEAST_RELATIVE` of the median; of no values there are none.
    """
    if not values:
        return []
    middle = median(values)
    distance = median([abs(value - middle) for value in values])
    deviation = max(MAD_TO_DEVIATION * distance, LEAST_RELATIVE * abs(middle))
    return [(value - middle) / deviation if deviation else 0.0 for value in values]
