"""The forecast of a run: its pace, and the reference convergence or the trend of the quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from podium.compliance.tools.live.partial.declared import Expected
from podium.rules.constraints.bounds import above, at_least, at_most, below
from podium.rules.constraints.constraint import Constraint
from podium.rules.model.schedule import Due
from podium.rules.table import Row

RECENT = 5
"""Evaluations that determine the pace, so that a slow start has little weight."""

TREND = 4
"""Evaluations of the trend line: few, because the quality flattens during training."""

FARTHEST = 10.0
"""Maximum ratio of a forecast to the training so far."""


@dataclass(frozen=True, slots=True)
class Point:
    """One evaluation: the training progress, the minutes since run_start, and the quality."""

    position: float
    minutes: float
    quality: float | None


@dataclass(frozen=True, slots=True)
class Goal:
    """The target quality, and whether it is reached from above."""

    bound: float
    downwards: bool
    constraint: Constraint


@dataclass(frozen=True, slots=True)
class Forecast:
    """The forecast time of the target, in minutes from run_start, and its basis."""

    minutes: float
    position: float
    how: str


def goal_of(target: Row | None) -> Goal | None:
    """The target of a closed benchmark, if it is one number."""
    for constraint in target.some if target is not None else ():
        bound = getattr(constraint, "bound", None)
        if isinstance(bound, int | float) and isinstance(
            constraint, at_most | below | at_least | above
        ):
            return Goal(bound, isinstance(constraint, at_most | below), constraint)
    return None


def forecast(
    points: Sequence[Point], expected: Expected, goal: Goal | None, due: Due | None
) -> Forecast | None:
    """The forecast end of a run that has not reached its target; None without a basis.

    With a reference point, the end is the mean convergence of the reference. After that, or without
    a point, it is where a straight line through the last qualities meets the target. Both are
    rounded up to the next evaluation. The pace is that of the last evaluations.
    """
    if len(points) < 2 or points[-1].position <= points[0].position:
        return None
    last = points[-1]
    if expected.mean is not None and expected.mean > last.position:
        position, basis = (
            expected.mean,
            f"mean convergence of the reference ({_count(expected.mean)})",
        )
    else:
        crossing = _crossing(points, goal)
        if crossing is None:
            return None
        position, count = crossing
        basis = f"earliest, from a line through the last {count} quality values"
    position = _next_evaluation(position, last.position, due)
    pace, count = _pace(points)
    minutes = last.minutes + pace * (position - last.position)
    return Forecast(minutes, position, f"{basis}, at the pace of the last {count} evaluations")


def _pace(points: Sequence[Point]) -> tuple[float, int]:
    """Minutes for one unit of training, and the number of evaluations for it."""
    recent = points[-RECENT:]
    way = recent[-1].position - recent[0].position
    if way <= 0:
        recent = points
        way = recent[-1].position - recent[0].position
    return (recent[-1].minutes - recent[0].minutes) / way, len(recent)


def _crossing(points: Sequence[Point], goal: Goal | None) -> tuple[float, int] | None:
    """The point where the least-squares line through the last qualities meets the target."""
    measured = [(p.position, p.quality) for p in points[-TREND:] if p.quality is not None]
    # Two points are always on a line, which would follow every fluctuation
    if goal is None or len(measured) < 3:
        return None
    mean_at = math.fsum(progress for progress, _ in measured) / len(measured)
    mean = math.fsum(quality for _, quality in measured) / len(measured)
    spread = math.fsum((progress - mean_at) ** 2 for progress, _ in measured)
    if not spread:
        return None
    slope = (
        math.fsum((progress - mean_at) * (quality - mean) for progress, quality in measured)
        / spread
    )
    # A line that leads away from the target meets it in the past
    if not slope or (slope < 0) != goal.downwards:
        return None
    position = mean_at + (goal.bound - mean) / slope
    last = points[-1].position
    # A line may meet the target before the last evaluation, which missed it
    return (max(position, last), len(measured)) if position <= FARTHEST * last else None


def _next_evaluation(position: float, last: float, due: Due | None) -> float:
    if due is None:
        return position
    # Minus an epsilon, or rounding would move a position on the grid to the next
    steps = max(1, math.ceil((position - last) / due.interval - 1e-9))
    return last + steps * due.interval


def _count(number: float) -> str:
    return f"{number:,.6g}"
