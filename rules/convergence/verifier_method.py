"""The method of the official verifier, release 4.1.68, which is the same in every round.

Where it differs from the policy it is reproduced to the last digit, because a verdict can depend on
one: sums are in the order of NumPy, the minimum is found by bisection, and pruning is a single
pass.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence

from podium.rules.convergence.method import ConvergenceMethod, Reference
from podium.rules.convergence.statistics import acceptable_distance, interpolate, trimmed

TOLERANCE = 1e-4
"""Width at which the search for the minimum ends, in the benchmark's unit."""

_BLOCK = 128
"""Number of values that NumPy adds in one block."""

UNFINISHED = 1e9
"""The value of a run that did not converge. It is less than the tokens of gpt3, where such a run is
dropped as the fastest.
"""


def mean_of_trimmed(values: Sequence[float], drop: int) -> float:
    """The trimmed mean, summed in the order of NumPy; NaN for no values."""
    remaining = trimmed(values, drop)
    return numpy_sum(remaining) / len(remaining) if remaining else math.nan


def deviation_of_all(values: Sequence[float], drop: int) -> float:  # noqa: ARG001 - as the policy's
    """Population deviation of all values, including the dropped ones (since July 2024)."""
    if not values:
        return math.nan
    # Its mean drops the fastest and slowest values, but its deviation is `numpy.std` of all values.
    count = len(values)
    mean = numpy_sum(sorted(values)) / count
    return math.sqrt(
        numpy_sum([(value - mean) * (value - mean) for value in sorted(values)]) / count
    )


def numpy_sum(values: Sequence[float]) -> float:
    """The sum in the order in which NumPy adds: halves of more than a block, eight partial sums.

    The length of each half except the last is a multiple of eight.
    """
    if len(values) > _BLOCK:
        half = len(values) // 2 // 8 * 8
        return numpy_sum(values[:half]) + numpy_sum(values[half:])
    aligned = len(values) // 8 * 8
    if not aligned:
        return sum_in_order(values)
    sums = [sum_in_order(values[lane:aligned:8]) for lane in range(8)]
    while len(sums) > 1:
        sums = [first + second for first, second in zip(sums[::2], sums[1::2], strict=True)]
    return sum_in_order([sums[0], *values[aligned:]])


def sum_in_order(values: Sequence[float]) -> float:
    """The plain sum, rounded after each number; the built-in `sum` is more precise."""
    return functools.reduce(operator.add, values, 0.0)


def minimum_by_halving(mean: float, spread: float, references: int, submitted: int) -> float:
    """The middle of the last interval of a search on [0, mean] for the lowest mean accepted."""
    # With equal values it skips the search, because the test statistic is undefined.
    if spread == 0:
        return mean
    limit = mean - acceptable_distance(spread, references, submitted)
    low, high = 0.0, mean
    middle = high / 2
    while high - low > TOLERANCE:
        if middle > limit:
            high = middle
        else:
            low = middle
        middle = (low + high) / 2
    return middle


def one_pass(references: list[Reference]) -> list[Reference]:
    """The references left from the fastest on, after one pass from left to right.

    Each is compared with the line between its current neighbors without backtracking, so the rest
    may not be convex.
    """
    fastest = min(references, key=lambda reference: reference.mean)
    # It first drops every smaller batch size, even one on the hull
    remaining = [
        reference for reference in references if reference.batch_size >= fastest.batch_size
    ]
    index = 1
    while index < len(remaining) - 1:
        left, point, right = remaining[index - 1 : index + 2]
        line = interpolate(
            point.batch_size, (left.batch_size, left.mean), (right.batch_size, right.mean)
        )
        if point.mean > line:
            del remaining[index]
        else:
            index += 1
    sizes = {reference.batch_size for reference in remaining}
    return [reference for reference in references if reference.batch_size in sizes]


VERIFIER = ConvergenceMethod(
    "verifier",
    mean=mean_of_trimmed,
    deviation=deviation_of_all,
    minimum=minimum_by_halving,
    # According to the policy unet3d counts 32 of 40, which accepts a slightly lower mean
    uncounted=1,
    prune=one_pass,
    allowance=operator.attrgetter("verifier_allowance"),
    unfinished=UNFINISHED,
)
