"""The official verifier's way, as release 4.1.68 works in every round.

Where it departs from the policy it is followed to the last digit, for a verdict can hang on one:
sums are numpy's, the minimum is searched for by halving, pruning takes a single pass.
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
"""Numbers that numpy adds in one block."""

UNFINISHED = 1e9
"""What a run that did not converge counts for: less than gpt3's tokens, so there it is dropped as
the fastest.
"""


def mean_of_trimmed(values: Sequence[float], drop: int) -> float:
    """The trimmed mean, summed as numpy does; NaN of no values."""
    kept = trimmed(values, drop)
    return numpy_sum(kept) / len(kept) if kept else math.nan


def deviation_of_all(values: Sequence[float], drop: int) -> float:  # noqa: ARG001 - as the policy's
    """Population deviation of all the values, the dropped ones too (since July 2024)."""
    if not values:
        return math.nan
    # Its mean drops the fastest and slowest, its deviation is `numpy.std` of the whole list.
    count = len(values)
    mean = numpy_sum(sorted(values)) / count
    return math.sqrt(
        numpy_sum([(value - mean) * (value - mean) for value in sorted(values)]) / count
    )


def numpy_sum(values: Sequence[float]) -> float:
    """The sum in the order in which numpy adds: halves of more than a block, eight partial sums.

    Each half but the last is a multiple of eight long.
    """
    if len(values) > _BLOCK:
        half = len(values) // 2 // 8 * 8
        return numpy_sum(values[:half]) + numpy_sum(values[half:])
    whole = len(values) // 8 * 8
    if not whole:
        return sum_in_order(values)
    parts = [sum_in_order(values[lane:whole:8]) for lane in range(8)]
    while len(parts) > 1:
        parts = [first + second for first, second in zip(parts[::2], parts[1::2], strict=True)]
    return sum_in_order([parts[0], *values[whole:]])


def sum_in_order(values: Sequence[float]) -> float:
    """The plain sum, rounded after each number; the built-in `sum` does better than that."""
    return functools.reduce(operator.add, values, 0.0)


def minimum_by_halving(mean: float, spread: float, references: int, submitted: int) -> float:
    """The middle of the last interval of a search on [0, mean] for the lowest mean accepted."""
    # With equal values it skips the search, as the test it searches with has no value.
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


def all_but_two(needed: int, drop: int) -> int:  # noqa: ARG001 - unet3d drops eight, counts two
    """The runs of a submission that the test counts."""
    # By the policy unet3d counts 32 of 40, with which a slightly lower mean would pass
    return needed - 2


def one_pass(references: list[Reference]) -> list[Reference]:
    """The references left from the fastest on, after one pass from left to right.

    Each is compared with the line between its current neighbours, and no step is taken back: what
    is left need not be convex.
    """
    fastest = min(references, key=lambda one: one.mean)
    # It drops every smaller batch size first, even one that lies on the hull
    kept = [one for one in references if one.batch_size >= fastest.batch_size]
    at = 1
    while at < len(kept) - 1:
        before, here, after = kept[at - 1 : at + 2]
        line = interpolate(
            here.batch_size, (before.batch_size, before.mean), (after.batch_size, after.mean)
        )
        if here.mean > line:
            del kept[at]
        else:
            at += 1
    sizes = {one.batch_size for one in kept}
    return [one for one in references if one.batch_size in sizes]


VERIFIER = ConvergenceMethod(
    "verifier",
    mean=mean_of_trimmed,
    deviation=deviation_of_all,
    minimum=minimum_by_halving,
    submitted=all_but_two,
    prune=one_pass,
    allowance=operator.attrgetter("verifier_allowance"),
    unfinished=UNFINISHED,
)
