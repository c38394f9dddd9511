"""The spread among the runs of one result, and the number of runs for a repeatable result.

The relative deviation of each result's runs is pooled over the results of a benchmark in a round.
Drawing from the pooled, centered times gives the number of runs for which 90 % of olympic means are
within 5 % or 10 % of the true mean: the criterion by which the number of runs was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from podium.compliance.tools.store.analyses.bootstrap import LEVEL, SEED, numpy, olympic_means
from podium.compliance.tools.store.analyses.material import ResultRow, round_order
from podium.compliance.tools.store.analyses.table import Analysis, Shown

TOLERANCES = (0.05, 0.10)
MOST_RUNS = 60
DRAWS = 2000
LEAST_RUNS = 3

_BY = ("suite", "round")
COLUMNS = (
    *("suite", "round", "benchmark", "division", "results", "runs", "deviation"),
    *("low", "high", "for_5", "for_10", "needed"),
)
SHOWN = (
    *(Shown("benchmark"), Shown("division"), Shown("results"), Shown("runs")),
    *(Shown("deviation", "spread", 3), Shown("low", digits=3), Shown("high", digits=3)),
    *(Shown("for_5", "5 %"), Shown("for_10", "10 %"), Shown("needed")),
)

NOTES = (
    (
        "spread: standard deviation of the runs of a result over their mean, pooled over results; "
        "low to high: its 90 % interval."
    ),
    (
        "5 %, 10 %: the fewest runs for which 90 % of olympic means are this close to the true "
        f"mean; - if {MOST_RUNS} are too few."
    ),
    "needed: the runs that the rules require, which were chosen for 5 % (vision) or 10 % (others).",
)


def variance(results: Sequence[ResultRow]) -> Analysis:
    """Run-to-run spread of each benchmark, round and division."""
    groups: dict[tuple[str, ...], list[ResultRow]] = {}
    for result in results:
        if result.scaling == "strong" and len(result.counted) >= LEAST_RUNS:
            key = (result.suite, result.round, result.benchmark, result.division)
            groups.setdefault(key, []).append(result)
    ordered = sorted(groups, key=lambda key: (key[0], round_order(key[1]), key))
    rows = [_row(key, groups[key]) for key in ordered]
    title = "Variance: spread among the runs of one result"
    return Analysis("variance", title, COLUMNS, rows, _BY, SHOWN, NOTES)


def _row(key: tuple[str, ...], group: list[ResultRow]) -> dict[str, Any]:
    times = [[run.minutes or math.nan for run in result.counted] for result in group]
    spread, low, high = pooled(times)
    dropped = group[0].dropped
    fewest = [runs_for(times, dropped, tolerance) for tolerance in TOLERANCES]
    return {
        **dict(zip(COLUMNS, key, strict=False)),
        "results": len(group),
        "runs": sum(map(len, times)),
        "deviation": spread,
        "low": low,
        "high": high,
        "for_5": fewest[0],
        "for_10": fewest[1],
        "needed": group[0].needed,
    }


def pooled(times: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """The relative deviation of runs, pooled over results, and the ends of its 90 % interval.

    The interval is for the variance of normal values, with the approximation of chi-squared by
    Wilson and Hilferty.
    """
    freedom = sum(len(values) - 1 for values in times)
    squares = math.fsum(_squares(values) for values in times)
    spread = math.sqrt(squares / freedom)
    ends = [spread / math.sqrt(_chi_squared(freedom, z) / freedom) for z in (_Z, -_Z)]
    return spread, ends[0], ends[1]


_Z = 1.6448536269514722
"""The 95 % quantile of the normal distribution."""


def _chi_squared(freedom: int, z: float) -> float:
    part = 2 / (9 * freedom)
    return freedom * max(1e-9, 1 - part + z * math.sqrt(part)) ** 3


def _squares(times: Sequence[float]) -> float:
    middle = math.fsum(times) / len(times)
    return math.fsum((time / middle - 1) ** 2 for time in times)


def runs_for(times: Sequence[Sequence[float]], dropped: int, tolerance: float) -> int | None:
    """The fewest runs for which 90 % of olympic means are within a tolerance of the true mean."""
    np = numpy()
    rng = np.random.default_rng(SEED)
    residuals = np.array([value for values in times for value in _residuals(values)])

    def enough(runs: int) -> bool:
        samples = 1 + rng.choice(residuals, (DRAWS, runs, 1))
        means = olympic_means(samples, dropped)[..., 0]
        return bool(np.mean(np.abs(means - 1) <= tolerance) >= LEVEL)

    low, high = 2 * dropped + 1, MOST_RUNS
    if not enough(high):
        return None
    # More runs are never worse
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _residuals(times: Sequence[float]) -> list[float]:
    """The distance of each time from its result's mean, taken as the true mean."""
    middle, count = math.fsum(times) / len(times), len(times)
    return [(time / middle - 1) * math.sqrt(count / (count - 1)) for time in times]
