"""Evaluation schedules of benchmarks: grids of training positions, computed for a batch size."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cached_property
from itertools import repeat
from operator import mod, sub
from typing import Literal

import msgspec

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.formula import Formula, show
from podium.rules.run import Run

Unit = Literal["samples", "tokens", "epochs"]

UNIT_SLIP = 0.01
"""Positions below this share of an interval have another unit and are not checked."""

DRIFT = 0.1
"""Share of the training by which rounded positions may deviate from an even pace."""


class Grid(msgspec.Struct, frozen=True):
    """One interpretation of a schedule.

    `first` is None if the first evaluation is free. An interval may deviate by `slack`; with
    `per_batch`, by this number of units for each sample of the batch. With `aligned`, every
    evaluation must be at a multiple of the interval. `epoch` is the number of samples in an epoch
    if logs of a benchmark may count either. A run that does not converge trains until `longest`, if
    the policy sets it.
    """

    interval: Formula
    first: Formula | None = None
    unit: Unit = "samples"
    slack: float = 0.0
    per_batch: float = 1.0
    aligned: bool = False
    epoch: Formula | None = None
    longest: Formula | None = None

    def due(self, batch: float) -> Due:
        """The grid for one batch size; raises ArithmeticError for a batch size without a grid."""
        run = Run([Record(k.GLOBAL_BATCH_SIZE.name, 0, batch, {})])
        # A derived record has no position before which the batch size could be logged
        run.ordered = False
        interval = float(self.interval.compute(run))
        first, epoch, longest = (
            None if formula is None else float(formula.compute(run))
            for formula in (self.first, self.epoch, self.longest)
        )
        if interval <= 0:
            # The same type as for a division by a batch size of 0: callers suppress both
            raise ZeroDivisionError("the interval is 0")
        # A point may be rounded to the next batch, but by at most a quarter of the interval: a
        # batch as large as the interval must not hide a missing evaluation
        one_batch = self.per_batch * batch
        minimum = self.slack * interval
        slack = max(minimum, min(one_batch, interval / 4))
        first_slack = max(minimum, one_batch)
        return Due(first, interval, slack, first_slack, self, self.unit, epoch, longest)


class Due(msgspec.Struct, frozen=True):
    """A computed grid, in the logged unit. The slacks are the allowed deviations.

    `epoch` is in samples.
    """

    first: float | None
    interval: float
    slack: float
    first_slack: float
    grid: Grid
    unit: Unit
    epoch: float | None = None
    longest: float | None = None


class Miss(msgspec.Struct, frozen=True):
    """A deviation: the evaluation at fault (its index among the points), and the reason.

    `late`: the evaluation is later than scheduled, not earlier.
    """

    index: int
    message: str
    expected: str
    actual: float
    hint: str
    late: bool


class Schedule(msgspec.Struct, frozen=True, dict=True):
    """When a benchmark evaluates.

    Any of the grids is accepted; the first is the policy's. `often`: the round only sets a minimum
    frequency of evaluations. `offline`: checkpoints are evaluated after the run, in any order. With
    `stops_at_checkpoint`, run_stop then has the time and the position of the first checkpoint in
    training that reaches the target, not of its evaluation. `positions` are the metadata members
    with the training position.
    """

    grids: tuple[Grid, ...]
    often: bool = False
    offline: bool = False
    stops_at_checkpoint: bool = False
    positions: tuple[str, ...] = ("samples_count", "epoch_num")

    @property
    def text(self) -> str:
        """The schedule as the policy writes it."""
        grid = self.grids[0]
        first = "" if grid.first is None else f", first at {grid.first.text}"
        rarely = "at least every" if self.often else "every"
        interval = "epoch" if grid.interval.text == "1" else f"{grid.interval.text} {grid.unit}"
        suffix = (
            "; checkpoints may be evaluated after the run, in any order" if self.offline else ""
        )
        return f"{rarely} {interval}{first}{suffix}"

    @property
    def unit(self) -> Unit:
        """The unit of the policy's grid."""
        return self.grids[0].unit

    def due(self, batch: float) -> tuple[Due, ...]:
        """The accepted grids for one batch size; none for an invalid batch size."""
        if batch not in self._known:
            dues = []
            for grid in self.grids:
                with contextlib.suppress(ArithmeticError):
                    dues.append(grid.due(batch))
            self._known[batch] = tuple(dues)
        return self._known[batch]

    @cached_property
    def _known(self) -> dict[float, tuple[Due, ...]]:
        """The grids by batch size: all runs of a result have the same."""
        return {}

    def judge(self, points: Sequence[float], batch: float) -> list[Miss]:
        """The deviations, at most one of each kind, from the grid that fits best.

        `points` are the training positions of the evaluations, ascending and unique.
        """
        due = self._missed(points, batch)
        if due is None:
            return []
        indices = self.bad_intervals(points, due)
        return [
            *([self._about_first(points[0], due)] if self.first_is_off(points[0], due) else []),
            *([self._about_intervals(points, due, indices)] if indices else []),
        ]

    def fits(self, points: Sequence[float], batch: float) -> bool:
        """Whether the points, which are as in `judge`, have no deviation."""
        return self._missed(points, batch) is None

    def _missed(self, points: Sequence[float], batch: float) -> Due | None:
        """The grid that fits best if none fits; None if one fits, or nothing can be compared."""
        dues = self.due(batch)
        if not points or not dues:
            return None
        farthest = points[-1]
        # For example, epochs where the policy counts samples: every distance would look wrong
        if farthest < UNIT_SLIP * min([due.interval for due in dues]):
            return None
        ranked: list[tuple[tuple[float, float], int]] = []
        for index, due in enumerate(dues):
            number = len(self.bad_intervals(points, due)) + self.first_is_off(points[0], due)
            if not number:
                return None
            ranked.append(((number, abs(points[0] - (due.first or points[0]))), index))
        # Deviations are reported from the grid that the log most likely uses
        return dues[min(ranked)[1]]

    def first_is_off(self, point: float, due: Due) -> bool:
        """Whether an evaluation at this point may not be the first."""
        if due.first is None:
            return False
        delay = point - due.first
        return delay > due.first_slack if self.often else abs(delay) > due.first_slack

    def bad_intervals(self, points: Sequence[float], due: Due) -> list[int]:
        """Indices of the evaluations at a wrong distance from the one before."""
        interval, slack = due.interval, due.slack
        if self.often:
            maximum = interval + slack
            return [i for i in range(1, len(points)) if points[i] - points[i - 1] > maximum]
        # If the first checkpoints need no evaluation, only multiples show a deviation
        if due.grid.aligned and any(map(mod, points, repeat(interval))):
            indices = [
                i for i, point in enumerate(points) if _off_multiple(point, interval) > slack
            ]
            if indices:
                return indices
        gaps = list(map(sub, points[1:], points))
        if gaps and max(gaps) - interval <= slack >= interval - min(gaps):
            indices = []
        else:
            indices = [i for i, gap in enumerate(gaps, 1) if abs(gap - interval) > slack]
        if indices or len(points) < 3:
            return indices
        # A tolerance for each gap is not enough: gaps that are all slightly long add up
        distance = points[-1] - points[0]
        steps = len(points) - 1
        if abs(distance - steps * interval) > max(slack, DRIFT * distance):
            return list(range(1, len(points)))
        return []

    def _about_first(self, point: float, due: Due) -> Miss:
        first = due.first or 0.0
        rarely = "at the latest " if self.often else ""
        formula = due.grid.first or due.grid.interval
        return Miss(
            0,
            f"the first evaluation is at {_number(point)} {due.unit}; must be {rarely}at "
            f"{_number(first)} {due.unit}",
            _worked_out(formula, first, due.unit),
            point,
            f"evaluate first at {_number(first)} {due.unit}, then every {_number(due.interval)}",
            late=point > first,
        )

    def _about_intervals(self, points: Sequence[float], due: Due, indices: list[int]) -> Miss:
        index = indices[0]
        previous = points[index - 1] if index else 0.0
        gap = points[index] - previous
        prefix = "at most " if self.often else ""
        return Miss(
            index,
            f"the interval before the evaluation at {_number(points[index])} {due.unit} is "
            f"{_number(gap)} {due.unit} ({len(indices)} of {len(points)} evaluations deviate); "
            f"must be {prefix}{_number(due.interval)} {due.unit}",
            _worked_out(due.grid.interval, due.interval, due.unit),
            gap,
            f"evaluate exactly every {_number(due.interval)} {due.unit}"
            if not self.often
            else f"evaluate at least every {_number(due.interval)} {due.unit}",
            late=gap > due.interval,
        )


def _off_multiple(point: float, interval: float) -> float:
    return abs(point - round(point / interval) * interval)


def _number(value: float) -> str:
    return show(round(value, 6))


def _worked_out(formula: Formula, value: float, unit: str) -> str:
    if formula.needs:
        return f"{formula.text} {unit} (= {_number(value)})"
    return f"{_number(value)} {unit}"
