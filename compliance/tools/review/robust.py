"""Statistics that a few odd values do not move: distances from the median."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from podium.rules.convergence.spread import MAD_TO_DEVIATION


def robust_z(values: Sequence[float], least: float) -> list[float]:
    """How many deviations, as the median distance estimates them, each value is off the median.

    `least` is the smallest deviation that is assumed, in the unit of the values: equal values say
    nothing of how far apart the next one may be. Of no values there are none.
    """
    if not values:
        return []
    middle = median(values)
    distance = median([abs(value - middle) for value in values])
    deviation = max(MAD_TO_DEVIATION * distance, least)
    return [(value - middle) / deviation if deviation else 0.0 for value in values]
