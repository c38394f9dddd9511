"""Training positions, followed record by record: fast tests that nearly every record passes."""

from __future__ import annotations

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Context
from podium.rules.checks.points import marks_of, outcome_key, position
from podium.rules.model.schedule import DRIFT, Due
from podium.rules.run import Run


class Progress:
    """The highest position of one key so far, and the latest time."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.unit = ""
        self.highest = self.latest = float("-inf")

    def goes_back(self, run: Run, record: Record) -> bool:
        """Whether the position or the time is lower than in an earlier record."""
        # Positions in two units cannot be compared: the first record decides which unit is followed
        reading = position(record, (self.unit,) if self.unit else self.names)
        if reading is None:
            return False
        self.unit = reading[0]
        backward = reading[1] < self.highest or record.time_ms < self.latest
        self.highest, self.latest = max(self.highest, reading[1]), max(self.latest, record.time_ms)
        return backward


class Grids:
    """The grids of a schedule that match all evaluations so far.

    Overlapping evaluations report their outcomes in any order, so a later one may fill a gap: then
    only the end of the log decides.
    """

    def __init__(self, context: Context) -> None:
        self.schedule = context.schedule
        self.dues: list[Due] | None = None
        self.unit = ""
        self.first = self.last = 0.0
        self.count = 0
        self.overlap = False

    def leaves(self, run: Run, record: Record) -> bool:
        """Whether an evaluation matches none of the grids; it may still be valid."""
        # If checkpoints are evaluated in any order, a later evaluation may fill any gap
        if self.schedule is None or self.schedule.offline or self.overlap:
            return False
        reading = position(record, (self.unit,) if self.unit else self.schedule.positions)
        # The check itself examines records that this class cannot follow
        if reading is None or self._set_up(run) is None:
            return True
        unit, point = reading
        self.unit = unit
        # A record of another rank about the same evaluation
        if self.count and point == self.last:
            return False
        if point < self.last:
            self.overlap = True
            return False
        if point <= 0:
            return True
        if not self.count:
            self.first = point
        self.dues = [due for due in self.dues or () if self._fits(point, due)]
        self.last = point
        self.count += 1
        # The gap may be an evaluation that is still running: a warning now may be wrong
        return not self.dues and not self._awaits_another(run, point)

    def _awaits_another(self, run: Run, point: float) -> bool:
        """Whether an earlier evaluation was started and has no outcome yet."""
        starts = marks_of(run, "eval_start", (self.unit,))
        outcomes = marks_of(run, outcome_key(run), (self.unit,))
        if starts is None or outcomes is None:
            return False
        return any(start < point for _, start in starts.not_among(outcomes))

    def _set_up(self, run: Run) -> list[Due] | None:
        if self.dues is None and self.schedule is not None:
            batch = run.number(k.GLOBAL_BATCH_SIZE.name)
            if batch is None or batch <= 0:
                return None
            self.dues = [*self.schedule.due(batch)]
        return self.dues

    def _fits(self, point: float, due: Due) -> bool:
        assert self.schedule is not None
        if not self.count:
            return not self.schedule.first_is_off(point, due)
        if self.schedule.bad_intervals([self.last, point], due):
            return False
        distance = point - self.first
        return self.schedule.often or (
            abs(distance - self.count * due.interval) <= max(due.slack, DRIFT * distance)
        )
