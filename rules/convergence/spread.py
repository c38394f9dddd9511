"""How far the runs of a result lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from podium.rules.convergence.facts import RunFacts

# Run counts were chosen so that 90 % of results fall within 5 % (vision), others within 10 %
USUAL_SPREAD = {5: 0.025}
"""By runs needed, how far runs usually spread (deviation over mean); for other counts 5 %."""

MAD_TO_DEVIATION = 1.4826
"""For normally distributed values: deviation over median distance from the median."""

LEAST_RUNS = 3
"""Runs that a usual speed takes."""

UNEVEN = 0.2
"""Share by which a run may be faster or slower than usual; one accepted result in 30 has runs
farther off, mostly for a pause."""


class Spread(msgspec.Struct, frozen=True):
    """How far the times of the runs that count lie apart.

    `relative` is their standard deviation (of a sample) over their mean, `usual` what the benchmark
    is known for, `outliers` the names of runs far from the median.
    """

    mean: float
    deviation: float
    usual: float
    outliers: tuple[str, ...] = ()

    @property
    def relative(self) -> float:
        """Deviation over mean."""
        return self.deviation / self.mean if self.mean else math.nan


def spread_of(runs: Sequence[RunFacts], needed: int) -> Spread | None:
    """How far the runs' times lie apart; None for fewer than two.

    An outlier is farther from the median than 3.5 deviations, as the median distance estimates
    them, and than twice the usual spread.
    """
    times = [run.minutes for run in runs if run.minutes is not None]
    if len(times) < 2:
        return None
    usual = USUAL_SPREAD.get(needed, 0.05)
    import statistics  # with the modules that it needs takes long to load: scores alone want it

    middle = statistics.median(times)
    distance = statistics.median(abs(time - middle) for time in times)
    # Without the second bound very even runs would show outliers of no weight
    limit = max(3.5 * MAD_TO_DEVIATION * distance, 2 * usual * abs(middle))
    far = (run for run in runs if run.minutes is not None and abs(run.minutes - middle) > limit)
    outliers = tuple(sorted(run.name for run in far))
    return Spread(statistics.fmean(times), statistics.stdev(times), usual, outliers)


def uneven(runs: Sequence[RunFacts]) -> list[tuple[str, float]]:
    """Runs that train far faster or slower than the others: (name, share above the median).

    Speed is the training until convergence over the time of the run. As for outliers in time, a run
    is far off beyond 3.5 deviations as the median distance estimates them; of those the farthest
    comes first.
    """
    speeds = [
        (run.name, run.to_converge / run.minutes)
        for run in runs
        if run.counts and run.to_converge and run.minutes and run.minutes > 0
    ]
    if len(speeds) < LEAST_RUNS:
        return []
    middle = _middle([speed for _, speed in speeds])
    limit = max(
        UNEVEN * middle,
        3.5 * MAD_TO_DEVIATION * _middle([abs(speed - middle) for _, speed in speeds]),
    )
    far = [(name, speed / middle - 1) for name, speed in speeds if abs(speed - middle) > limit]
    return sorted(far, key=lambda each: -abs(each[1]))


def _middle(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
