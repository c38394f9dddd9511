"""A method of comparison with reference points, and the parts that both methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Literal

import msgspec

from podium.rules.convergence.data import Point
from podium.rules.convergence.statistics import interpolate, maximum_speedup
from podium.rules.model.benchmark import ConvergenceRules

Case = Literal["found", "interpolated", "below_range", "above_range", "none"]


class Reference(msgspec.Struct, frozen=True):
    """The reference for a submission at one batch size.

    `mean`, `deviation` and `minimum` are in the logged unit of the benchmark; `minimum` is the
    lowest accepted mean. `count` is the number of reference values in the mean. `ids` names the
    measured point, or the two points of an interpolated reference.
    """

    batch_size: float
    mean: float
    deviation: float
    minimum: float
    count: int
    ids: tuple[str, ...]

    @property
    def maximum_speedup(self) -> float:
        """The factor by which a submission may converge faster than this reference."""
        return maximum_speedup(self.mean, self.minimum)


class ConvergenceMethod(msgspec.Struct, frozen=True):
    """One method: its statistics, its pruning and its allowance.

    `mean(values, drop)` is the trimmed mean; `deviation(values, drop)` the spread of a point;
    `minimum(mean, spread, references, submitted)` the lowest accepted mean; `uncounted` the number
    of runs at each end that the test does not count, None for those that the score drops; `prune`
    selects the references to use; `allowance(rules)` is the amount by which a mean may fall short,
    from the benchmark's rules; `unfinished` replaces the value of a run that did not converge.
    """

    name: str
    mean: Callable[[Sequence[float], int], float]
    deviation: Callable[[Sequence[float], int], float]
    minimum: Callable[[float, float, int, int], float]
    uncounted: int | None
    prune: Callable[[list[Reference]], list[Reference]]
    allowance: Callable[[ConvergenceRules], float]
    unfinished: float

    def submitted(self, needed: int, dropped: int) -> int:
        """The number of runs of a submission that the test counts."""
        return needed - 2 * (dropped if self.uncounted is None else self.uncounted)


class References(msgspec.Struct, frozen=True, dict=True):
    """All references of a benchmark in one round, and those left after pruning; by batch size."""

    way: ConvergenceMethod
    needed: int
    dropped: int
    every: tuple[Reference, ...]
    used: tuple[Reference, ...]

    @cached_property
    def pruned(self) -> tuple[Reference, ...]:
        """The references that pruning removed."""
        return tuple(reference for reference in self.every if reference not in self.used)

    def match(self, batch_size: float) -> tuple[Case, Reference | None]:
        """The reference that applies to a batch size, and how it was found.

        Above all batch sizes there is none; below all batch sizes the smallest one applies.
        """
        exact = next(
            (reference for reference in self.used if reference.batch_size == batch_size), None
        )
        if exact is not None:
            return "found", exact
        # `used` ascends by batch size, so the neighbors are the last below and the first above
        low = [reference for reference in self.used if reference.batch_size < batch_size]
        high = [reference for reference in self.used if reference.batch_size > batch_size]
        if low and high:
            return "interpolated", self.between(low[-1], high[0], batch_size)
        if high:
            return "below_range", high[0]
        return ("above_range" if low else "none"), None

    def between(self, low: Reference, high: Reference, batch_size: float) -> Reference:
        """The reference at a batch size, interpolated between two others; it counts 2 N values."""
        mean = interpolate(batch_size, (low.batch_size, low.mean), (high.batch_size, high.mean))
        spread = interpolate(
            batch_size, (low.batch_size, low.deviation), (high.batch_size, high.deviation)
        )
        # Only 2 N reproduces the numbers of the policy's example
        count = 2 * self.needed
        submitted = self.way.submitted(self.needed, self.dropped)
        minimum = self.way.minimum(mean, spread, count, submitted)
        return Reference(batch_size, mean, spread, minimum, count, (*low.ids, *high.ids))


def references_of(
    way: ConvergenceMethod, points: Iterable[Point], needed: int, dropped: int
) -> References:
    """The references of points; a result needs `needed` runs and drops `dropped` at each end."""
    ordered = sorted(points, key=lambda point: point.batch_size)
    submitted, references = way.submitted(needed, dropped), []
    for point in ordered:
        mean = way.mean(point.to_converge, dropped)
        spread = way.deviation(point.to_converge, dropped)
        count = len(point.to_converge) - 2 * dropped
        minimum = way.minimum(mean, spread, count, submitted)
        references.append(Reference(point.batch_size, mean, spread, minimum, count, (point.id,)))
    # Pruning begins with the fastest reference, so there must be one
    used = way.prune(references) if references else []
    return References(way, needed, dropped, tuple(references), tuple(used))
