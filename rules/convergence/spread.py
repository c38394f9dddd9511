"""The spread of the runs of a result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from podium.rules.convergence.facts import RunFacts

# Run counts were chosen so that 90 % of results fall within 5 % (vision), others within 10 %
USUAL_SPREAD = {5: 0.025}
"""Usual spread of runs (deviation over mean) by the number of required runs; 5 % for other
counts."""

MAD_TO_DEVIATION = 1.4826
"""For normally distributed values: deviation over median distance from the median."""

LEAST_RUNS = 3
"""Minimum number of runs for a usual speed."""

UNEVEN = 0.2
"""Share by which a run may be faster or slower than usual; one accepted result in 30 has runs
farther off, usually because of a pause."""


class Spread(msgspec.Struct, frozen=True):
    """The spread of the times of the runs that count.

    `relative` is their standard deviation (of a sample) over their mean, `usual` the usual value of
    the benchmark, and `outliers` the names of runs far from the median.
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
    """The spread of the times of runs; None for fewer than two.

    An outlier is farther from the median than 3.5 deviations, estimated from the median distance,
    and than twice the usual spread.
    """
    times = [run.minutes for run in runs if run.minutes is not None]
    if len(times) < 2:
        return None
    expected = USUAL_SPREAD.get(needed, 0.05)
    import statistics  # slow to load with its dependencies, and only scores need it

    median = statistics.median(times)
    distance = statistics.median(abs(time - median) for time in times)
    # Without the second bound very even runs would show insignificant outliers
    limit = max(3.5 * MAD_TO_DEVIATION * distance, 2 * expected * abs(median))
    distant_runs = (
        run for run in runs if run.minutes is not None and abs(run.minutes - median) > limit
    )
    outliers = tuple(sorted(run.name for run in distant_runs))
    return Spread(statistics.fmean(times), statistics.stdev(times), expected, outliers)


def uneven(runs: Sequence[RunFacts]) -> list[tuple[str, float]]:
    """Runs that train far faster or slower than the others: (name, share above the median).

    Speed is the training until convergence divided by the time of the run. Like outliers in time,
    these runs are beyond 3.5 deviations, estimated from the median distance. The farthest run comes
    first.
    """
    speeds = [
        (run.name, run.to_converge / run.minutes)
        for run in runs
        if run.counts and run.to_converge and run.minutes and run.minutes > 0
    ]
    if len(speeds) < LEAST_RUNS:
        return []
    median = _middle([speed for _, speed in speeds])
    limit = max(
        UNEVEN * median,
        3.5 * MAD_TO_DEVIATION * _middle([abs(speed - median) for _, speed in speeds]),
    )
    outliers = [(name, speed / median - 1) for name, speed in speeds if abs(speed - median) > limit]
    return sorted(outliers, key=lambda entry: -abs(entry[1]))


def _middle(values: Sequence[float]) -> float:
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
