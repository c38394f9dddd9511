"""Intervals by resampling runs: of the ratio of two results' means, and of a relative spread.

The intervals are percentiles of resampled values, widened for few runs: a resample of n runs
spreads less than n new runs would, by sqrt((n - 1) / n), and Student's t is wider than the normal
distribution that percentiles assume. Means are resampled over all runs: if the ends of five runs
drawn with replacement are dropped, the rest spreads far more than that of five new runs.
"""

from __future__ import annotations

import math
from typing import Any

from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.store.building.records import EXTRA

RESAMPLES = 2000
LEVEL = 0.9
"""The share of intervals that contain the true value."""

SEED = 20_181_212
"""A fixed seed, so that a store always gives the same intervals: the day 0.5 was published."""

_NORMAL = 1.6448536269514722
# The 95 % quantile of Student's t, by degrees of freedom from 1 on
_T = (
    *(6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812),
    *(1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725),
)


def numpy() -> Any:
    """numpy, which the extra installs."""
    return needed("numpy", "an interval", EXTRA)


def widening(first: int, second: int, dropped: tuple[int, int] = (0, 0)) -> float:
    """The factor that widens percentiles of a ratio, for the numbers of runs on either side.

    For normal values, the mean between dropped ends spreads more than the mean of all: by 1.16 for
    the middle one of three, by 1.01 for eight of ten.
    """
    freedom = first + second - 2
    share = (dropped[0] / first + dropped[1] / second) / 2
    t = _T[freedom - 1] if freedom <= len(_T) else _NORMAL * (1 + 0.61 / freedom)
    fewer = 2 / ((first - 1) / first + (second - 1) / second)
    return t / _NORMAL * math.sqrt(fewer) * (1 + 1.44 * share**2)


def olympic_means(values: Any, dropped: int) -> Any:
    """Means of (…, runs, columns) without the runs at the ends of the first column."""
    np = numpy()
    if not dropped:
        return values.mean(axis=-2)
    order = np.argsort(values[..., 0], axis=-1)[..., dropped:-dropped, None]
    return np.take_along_axis(values, order, axis=-2).mean(axis=-2)


def log_ratios(
    base: Any, other: Any, dropped: tuple[int, int], combine: Any, resamples: int = RESAMPLES
) -> tuple[Any, Any, Any]:
    """Logarithms of ratios of means (base over other), and the ends of their 90 % intervals.

    `base` and `other` are (…, runs, columns); runs at the ends of the first column are dropped.
    Each column of `combine` has the coefficients of one sum of the columns' logarithms. Each of
    the three results is (…, combinations).
    """
    np = numpy()
    rng = np.random.default_rng(SEED)
    point = _combined(base, other, dropped, combine)
    sample = _combined(base, other, (0, 0), combine)
    resampled = _combined(
        _resampled(base, resamples, rng), _resampled(other, resamples, rng), (0, 0), combine
    )
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    wider = widening(base.shape[-2], other.shape[-2], dropped)
    return point, point + wider * (low - sample), point + wider * (high - sample)


def _combined(base: Any, other: Any, dropped: tuple[int, int], combine: Any) -> Any:
    np = numpy()
    means = [olympic_means(runs, drop) for runs, drop in zip((base, other), dropped, strict=True)]
    return (np.log(means[0]) - np.log(means[1])) @ combine


def _resampled(values: Any, resamples: int, rng: Any) -> Any:
    """(resamples, …, runs, columns): the same number of runs, drawn again with replacement."""
    np = numpy()
    runs = values.shape[-2]
    chosen = rng.integers(0, runs, (resamples, *values.shape[:-1]))
    return np.take_along_axis(values[None], chosen[..., None], axis=-2)
