"""A way of comparing with reference points, and what both ways share: references and matching."""

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
    """What a submission at one batch size is compared with.

    `mean`, `deviation` and `minimum` are in the benchmark's logged unit; `minimum` is the lowest
    mean accepted. `count` is how many reference values the mean rests on. `ids` names the measured
    point, or the two that an interpolated reference lies between.
    """

    batch_size: float
    mean: float
    deviation: float
    minimum: float
    count: int
    ids: tuple[str, ...]

    @property
    def interpolated(self) -> bool:
        """Whether no run of the reference was made at this batch size."""
        return len(self.ids) > 1

    @property
    def maximum_speedup(self) -> float:
        """By what factor a submission may converge faster than this."""
        return maximum_speedup(self.mean, self.minimum)


class ConvergenceMethod(msgspec.Struct, frozen=True):
    """One way to work: which statistics, which points are left out, what is let pass.

    `mean(values, drop)` is the trimmed mean; `deviation(values, drop)` the spread of a point;
    `minimum(mean, spread, references, submitted)` the lowest mean accepted; `submitted(needed,
    drop)` how many runs of a submission the test counts; `prune` keeps the references that are
    used; `allowance(rules)` is by how much a mean may fall short, by the benchmark's; `unfinished`
    stands in for a run that did not converge.
    """

    name: str
    mean: Callable[[Sequence[float], int], float]
    deviation: Callable[[Sequence[float], int], float]
    minimum: Callable[[float, float, int, int], float]
    submitted: Callable[[int, int], int]
    prune: Callable[[list[Reference]], list[Reference]]
    allowance: Callable[[ConvergenceRules], float]
    unfinished: float


class References(msgspec.Struct, frozen=True, dict=True):
    """All references of a benchmark in one round, and those left after pruning; by batch size."""

    way: ConvergenceMethod
    needed: int
    dropped: int
    every: tuple[Reference, ...]
    used: tuple[Reference, ...]

    @cached_property
    def pruned(self) -> tuple[Reference, ...]:
        """The references that pruning left out."""
        return tuple(one for one in self.every if one not in self.used)

    def match(self, batch_size: float) -> tuple[Case, Reference | None]:
        """Which reference holds for a batch size, and how it was found.

        Above every batch size there is none; below every one the smallest stands in.
        """
        exact = next((one for one in self.used if one.batch_size == batch_size), None)
        if exact is not None:
            return "found", exact
        # `used` ascends by batch size, so the neighbours are the last below and the first above
        low = [one for one in self.used if one.batch_size < batch_size]
        high = [one for one in self.used if one.batch_size > batch_size]
        if low and high:
            return "interpolated", self.between(low[-1], high[0], batch_size)
        if high:
            return "below_range", high[0]
        return ("above_range" if low else "none"), None

    def between(self, low: Reference, high: Reference, batch_size: float) -> Reference:
        """The reference at a batch size on the line between two others; it counts 2 N values."""
        mean = interpolate(batch_size, (low.batch_size, low.mean), (high.batch_size, high.mean))
        spread = interpolate(
            batch_size, (low.batch_size, low.deviation), (high.batch_size, high.deviation)
        )
        # The figures of the policy's worked example come out with 2 N only
        count = 2 * self.needed
        submitted = self.way.submitted(self.needed, self.dropped)
        minimum = self.way.minimum(mean, spread, count, submitted)
        return Reference(batch_size, mean, spread, minimum, count, (*low.ids, *high.ids))


def references_of(
    way: ConvergenceMethod, points: Iterable[Point], needed: int, dropped: int
) -> References:
    """The references that points give; `needed` runs make a result, `dropped` go at each end."""
    ordered = sorted(points, key=lambda point: point.batch_size)
    every = [_reference(way, point, needed, dropped) for point in ordered]
    # Pruning begins with the fastest of all, so there must be one
    used = way.prune(every) if every else []
    return References(way, needed, dropped, tuple(every), tuple(used))


def _reference(way: ConvergenceMethod, point: Point, needed: int, dropped: int) -> Reference:
    mean = way.mean(point.to_converge, dropped)
    spread = way.deviation(point.to_converge, dropped)
    count = len(point.to_converge) - 2 * dropped
    minimum = way.minimum(mean, spread, count, way.submitted(needed, dropped))
    return Reference(point.batch_size, mean, spread, minimum, count, (point.id,))
