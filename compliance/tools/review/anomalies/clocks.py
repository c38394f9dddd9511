"""Clocks that go back, stand still or are too regular, and intervals at another pace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from statistics import median

from podium.compliance.judging.logs.trace import Point
from podium.compliance.judging.results.result import Run
from podium.compliance.tools.review.anomalies.peers import robust_z
from podium.compliance.tools.review.material import Material, trace
from podium.compliance.tools.review.review_rules import (
    CLOCK_BACK,
    CLOCK_STANDS,
    PACE,
    REGULAR_TIMES,
    SLOW_START,
)
from podium.rules.checks.speed import STEADY
from podium.rules.finding import Finding, Profile
from podium.rules.run import MINUTE_MS

_PROFILE = Profile.POLICY

STANDING = 3
"""Minimum number of evaluations at one time: two may be from two ranks, or of one model."""

LEAST_REGULAR, LEAST_REGULAR_MS, MOST_SPREAD_MS = 6, 3000.0, 2.0
"""Minimum number and length of intervals, and the maximum difference: no machine is as regular.
Kernels of fixed length can take the same time for a second or two."""

LEAST_PACES, LEAST_PACE_Z, LEAST_CHANGE = 6, 12.0, 1.5
"""Minimum number of intervals that establish a usual pace, and the minimum deviation from it."""

LEAST_SCATTER = 0.02
"""Minimum scatter of paces that is assumed, as a share of the usual pace."""


def clocks(material: Material) -> Iterator[Finding]:
    """Findings about the clock of each log by itself."""
    for result in material.results:
        # Checkpoints that are evaluated after the run come in any order, also in parallel
        if result.rules.limits.offline(result.place.benchmark):
            continue
        for run in result.runs:
            yield from _back(run)
            points = _distinct(trace(run).quality.points)
            yield from _stands(run, points)
            yield from _regular(run, points)
            yield from _pace(run, points)


def _back(run: Run) -> Iterator[Finding]:
    steps_back = trace(run).back
    if steps_back:
        line, lost_ms = max(steps_back, key=lambda pair: pair[1])
        suffix = f", and at {len(steps_back) - 1} other lines" if len(steps_back) > 1 else ""
        yield CLOCK_BACK.found(
            _PROFILE, run.display_path, line=line, seconds=lost_ms / 1000, at=line, more=suffix
        )


def _distinct(points: Sequence[Point]) -> list[Point]:
    """The first point at each position: ranks and metrics repeat a position."""
    positions: set[float | None] = set()
    distinct = []
    for point in points:
        if point[2] is None or point[2] not in positions:
            distinct.append(point)
        positions.add(point[2])
    return distinct


def _stands(run: Run, points: Sequence[Point]) -> Iterator[Finding]:
    positioned = [point for point in points if point[2] is not None]
    for _, group in groupby(positioned, key=lambda point: point[1]):
        row = list(group)
        if len(row) >= STANDING:
            yield CLOCK_STANDS.found(
                _PROFILE,
                run.display_path,
                line=row[0][0],
                count=len(row),
                first=row[0][0],
                last=row[-1][0],
                start=row[0][2],
                stop=row[-1][2],
                unit=trace(run).quality.unit,
            )
            return


def _regular(run: Run, points: Sequence[Point]) -> Iterator[Finding]:
    gaps = [after[1] - before[1] for before, after in pairwise(points)]
    if len(gaps) < LEAST_REGULAR or min(gaps) < LEAST_REGULAR_MS:
        return
    spread = max(gaps) - min(gaps)
    # Times in whole seconds have intervals that are equal or differ by a second: not a sign
    coarse = all(point[1] % 1000 == 0 for point in points) and spread > 0
    if spread <= MOST_SPREAD_MS and not coarse:
        yield REGULAR_TIMES.found(
            _PROFILE,
            run.display_path,
            line=points[0][0],
            count=len(gaps),
            seconds=gaps[0] / 1000,
            spread=spread,
        )


def _pace(run: Run, points: Sequence[Point]) -> Iterator[Finding]:
    positioned = [(point[0], point[1], point[2]) for point in points if point[2] is not None]
    paces = [
        (a[0], b[0], (b[2] - a[2]) / (b[1] - a[1]))
        for a, b in pairwise(positioned)
        if b[1] > a[1] and b[2] > a[2]
    ]
    if len(paces) < LEAST_PACES or len(paces) < len(positioned) - 1:
        return
    values = [pace for *_, pace in paces]
    usual_pace = median(values)
    scattered = robust_z(values, LEAST_SCATTER * usual_pace)
    outliers = []
    for (first, last, pace), z in zip(paces, scattered, strict=True):
        times = pace / usual_pace
        if abs(z) >= LEAST_PACE_Z and max(times, 1 / times) >= LEAST_CHANGE:
            outliers.append((first, last, times, z))
    if outliers:
        first, last, times, z = max(outliers, key=lambda pace: abs(pace[3]))
        suffix = f"; {len(outliers) - 1} more such intervals" if len(outliers) > 1 else ""
        yield PACE.found(
            _PROFILE,
            run.display_path,
            line=first,
            first=first,
            last=last,
            times=times,
            z=z,
            more=suffix,
        )


LEAST_FALLING, LEAST_FALL = 3, 2.0
"""Minimum number of intervals that fall steadily, and minimum ratio of the first to the last."""


def slow_starts(material: Material) -> Iterator[Finding]:
    """Results whose runs speed up from one interval to the next."""
    for result in material.timed():
        falling = [(run, gaps) for run in result.runs if (gaps := _falling(run))]
        if len(falling) > len(result.runs) / 2:
            run, gaps = falling[0]
            yield SLOW_START.found(
                _PROFILE,
                run.display_path,
                first=gaps[0] / MINUTE_MS,
                last=gaps[-1] / MINUTE_MS,
                count=len(falling),
                total=len(result.runs),
            )


def _falling(run: Run) -> list[float]:
    """The intervals between evaluations if each is shorter than the one before."""
    points = _distinct(trace(run).quality.points)
    gaps = [after[1] - before[1] for before, after in pairwise(points)]
    start = run.facts.run.start_ms
    if points and start is not None:
        gaps.insert(0, points[0][1] - start)
    steady = all(0 < after <= STEADY * before for before, after in pairwise(gaps))
    enough = len(gaps) >= LEAST_FALLING and gaps[0] >= LEAST_FALL * gaps[-1]
    return gaps if steady and enough else []
