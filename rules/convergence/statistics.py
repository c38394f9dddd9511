"""The arithmetic of reference convergence points, as in the appendix of the training rules.

Numbers to converge are in the logged unit of a benchmark; batch sizes are in samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from podium.rules.convergence.t_quantiles import QUANTILES

ALPHA = 0.05
"""One-sided level of the test: training rules, RCP examples."""

NORMAL_QUANTILE = 1.6448536269514722
"""The quantile, in deviations, that a normally distributed value exceeds with probability ALPHA."""


def mean_of(values: Sequence[float]) -> float:
    """The mean of at least one value, rounded once."""
    return math.fsum(values) / len(values)


def trimmed(values: Sequence[float], drop: int) -> list[float]:
    """The values in order, without the `drop` lowest and the `drop` highest."""
    # max, because a negative end would slice a short list from the other side
    return sorted(values)[drop : max(drop, len(values) - drop)]


def olympic_mean(values: Sequence[float], drop: int = 1) -> float:
    """The mean without the `drop` lowest and highest values; NaN if no value is left."""
    remaining = trimmed(values, drop)
    return mean_of(remaining) if remaining else math.nan


def deviation(values: Sequence[float]) -> float:
    """Standard deviation in the population form: divided by the count."""
    if not values:
        return math.nan
    mean = mean_of(values)
    return math.sqrt(mean_of([(value - mean) ** 2 for value in values]))


@cache
def t_quantile(freedom: int) -> float:
    """Student's t that is exceeded with probability ALPHA, for `freedom` degrees of freedom."""
    if 0 < freedom <= len(QUANTILES):
        return QUANTILES[freedom - 1]
    return _t_beyond_table(freedom) if freedom > 0 else math.nan


def _t_beyond_table(freedom: int) -> float:
    """Student's t from its expansion about the quantile of the normal distribution.

    Source: Abramowitz and Stegun, 26.7.5. Beyond the table the error is below 1e-12.
    """
    terms = (
        NORMAL_QUANTILE,
        _odd_powers(1, 1) / 4,
        _odd_powers(3, 16, 5) / 96,
        _odd_powers(-15, 17, 19, 3) / 384,
        _odd_powers(-945, -1920, 1482, 776, 79) / 92_160,
    )
    return math.fsum(term / freedom**power for power, term in enumerate(terms))


def _odd_powers(*coefficients: int) -> float:
    """A sum of odd powers of the normal quantile, starting with the first."""
    return math.fsum(
        coefficient * NORMAL_QUANTILE ** (2 * index + 1)
        for index, coefficient in enumerate(coefficients)
    )


def acceptable_distance(spread: float, references: int, submitted: int) -> float:
    """The distance by which a submission's mean may be below the reference's mean.

    Two samples with equal deviation `spread` and these numbers of reference and submitted runs
    differ by less than this with probability 1 - ALPHA. Without a degree of freedom the distance is
    0.
    """
    freedom = references + submitted - 2
    if spread == 0 or freedom < 1 or references < 1 or submitted < 1:
        return 0.0
    return t_quantile(freedom) * spread * math.sqrt(1 / references + 1 / submitted)


def minimum_mean(mean: float, spread: float, references: int, submitted: int) -> float:
    """The lowest accepted mean of a submission."""
    return mean - acceptable_distance(spread, references, submitted)


def maximum_speedup(mean: float, minimum: float) -> float:
    """The factor by which a submission may converge faster than the reference."""
    return mean / minimum if minimum > 0 else math.inf


def interpolate(x: float, low: tuple[float, float], high: tuple[float, float]) -> float:
    """The value at `x` on the straight line through two (batch size, value) pairs."""
    (x0, y0), (x1, y1) = low, high
    # At a measured point return its value, which the formula may miss by a rounding error
    if x == x1 or x0 == x1:
        return y1
    return (y1 - y0) / (x1 - x0) * (x - x0) + y0


def normalisation(mean: float, submission: float) -> float:
    """The factor on the score: how much faster the submission converged than the reference."""
    return max(1.0, mean / submission) if submission > 0 else math.inf


def lower_hull(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices, in order of x, of the points that no straight line between two others passes below.

    A point on such a line stays: the rules drop a point only if it is slower.
    """
    order = sorted(range(len(points)), key=lambda index: (points[index], index))
    hull: list[int] = []
    for index in order:
        # Of equal batch sizes the fastest is first in the order, and stays
        if hull and points[hull[-1]][0] == points[index][0]:
            continue
        while len(hull) > 1:
            batch_size, value = points[hull[-1]]
            is_above = value > interpolate(batch_size, points[hull[-2]], points[index])
            if not is_above:
                break
            hull.pop()
        hull.append(index)
    return hull
