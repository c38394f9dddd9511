"""The method of the written policy: training rules, RCPs and the appendix RCP Examples.

The deviation is computed from the trimmed values, pruning leaves the lower convex hull, and the
test counts the values that the score of a submission keeps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter

from podium.rules.convergence.method import ConvergenceMethod, Reference
from podium.rules.convergence.statistics import (
    deviation,
    lower_hull,
    minimum_mean,
    olympic_mean,
    trimmed,
)


def trimmed_deviation(values: Sequence[float], drop: int) -> float:
    """Population deviation of the values without the `drop` lowest and highest."""
    return deviation(trimmed(values, drop))


def hull(references: list[Reference]) -> list[Reference]:
    """The references that are not above an interpolation of two others."""
    pairs = [(reference.batch_size, reference.mean) for reference in references]
    return [references[index] for index in lower_hull(pairs)]


POLICY = ConvergenceMethod(
    "policy",
    mean=olympic_mean,
    deviation=trimmed_deviation,
    minimum=minimum_mean,
    uncounted=None,
    prune=hull,
    allowance=attrgetter("allowance"),
    # Slower than any run, so it is dropped as the slowest
    unfinished=math.inf,
)
