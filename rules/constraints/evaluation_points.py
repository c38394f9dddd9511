"""Constraints on the positions of evaluations in samples: the first one and the later ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.benchmark_constraints import BATCH
from podium.rules.constraints.bounds import computes
from podium.rules.constraints.constraint import Constraint, with_metadata
from podium.rules.constraints.formula import Formula, as_of, ceil, floor, show_logged, worked_out
from podium.rules.run import NotLogged, Run, as_number, metadata_of


class OnSamples(Constraint, frozen=True):
    """Base of constraints on the samples_count of evaluations."""

    def at(self, record: Record) -> int:
        """The samples_count of the record as an integer; raises if it is not one."""
        return int(record.metadata["samples_count"])

    def actual(self, record: Record) -> Any:
        return record.metadata.get("samples_count") if isinstance(record.metadata, dict) else None

    def says(self, record: Record, run: Run | None) -> str:
        position = show_logged(self.actual(record))
        return f"{record.key} is at samples_count {position}; must be at {self.expected(run)}"

    def advice(self, key: str, run: Run | None) -> str:
        return f"evaluate at {self.expected(run)} samples"

    def when(self, run: Run) -> str:
        """The required positions of evaluations, with formulas computed."""
        return f"at {self.expected(run)} samples"

    def variations(self, record: Record, run: Run, values: Iterable[Any] = ()) -> Iterator[Record]:
        for value in (*self.candidates(run), *values):
            yield with_metadata(record, "samples_count", value)


class first_evaluation(OnSamples, frozen=True):
    """The first evaluation is at exactly this number of samples."""

    first_only: ClassVar[bool] = True

    samples: Formula

    def holds(self, record: Record, run: Run) -> bool:
        return self.at(record) == self.samples.compute(run)

    def text(self) -> str:
        return f"first at {self.samples.text} samples"

    def expected(self, run: Run | None) -> str:
        return worked_out(self.samples, run)

    def when(self, run: Run) -> str:
        return f"first at {self.expected(run)} samples"


class on_multiples_of(OnSamples, frozen=True):
    """Evaluations are at multiples of an interval in samples."""

    interval: Formula

    def holds(self, record: Record, run: Run) -> bool:
        return bool(record.metadata["samples_count"] % self.interval.compute(run) == 0)

    def text(self) -> str:
        return f"at multiples of {self.interval.text} samples"

    def expected(self, run: Run | None) -> str:
        return f"a multiple of {worked_out(self.interval, run)}"


class every_batch_from(OnSamples, frozen=True):
    """Evaluations start at a sample count and then follow every batch, none skipped.

    Evaluations that are logged before the batch size have no grid and fail.
    """

    start: Formula

    def broken(self, positions: list[int], run: Run) -> list[int]:
        batches = run.where.get("global_batch_size", [])
        next_point: Any = None
        batch: Any = None
        failures = []
        for index in sorted([*batches, *positions]):
            record = run.records[index]
            try:
                if record.key == "global_batch_size":
                    batch = record.value
                    run.position = index + 1
                    # The verifier computes the grid here: a repeated record starts it again
                    next_point = self.start.compute(run)
                elif record.metadata["samples_count"] == next_point:
                    # Only a match advances the grid: after a skipped point all later ones fail
                    next_point += batch
                else:
                    failures.append(index)
            except Exception:
                # The row of the batch size, which has `computes`, reports a size that gives no grid
                if record.key != "global_batch_size":
                    failures.append(index)
        return failures

    def holds(self, record: Record, run: Run) -> bool:
        position = run.position
        try:
            return position not in self.broken(run.where[record.key], run)
        finally:
            run.position = position

    def text(self) -> str:
        return f"at {self.start.text} samples first, then after every batch"

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {key} in training order, the first after {worked_out(self.start, run)} samples"

    def when(self, run: Run) -> str:
        return f"first at {worked_out(self.start, run)} samples, then after every batch"


class every_batch_in_any_order(every_batch_from, frozen=True):
    """The same grid, but its points may be evaluated in any order and more than once."""

    @property
    def awaits_end(self) -> bool:
        return True

    def broken(self, positions: list[int], run: Run) -> list[int]:
        failures: list[int] = []
        by_point: dict[float, list[int]] = {}
        for index in positions:
            point = as_number(metadata_of(run.records[index]).get("samples_count"))
            (failures if point is None else by_point.setdefault(point, [])).append(index)
        run.position = len(run.records)
        try:
            next_point = self.start.compute(run)
            batch = run.logged("global_batch_size")
            for point in sorted(by_point):
                # As above: all points after a gap fail
                if point == next_point:
                    next_point += batch
                else:
                    failures += by_point[point]
        except (ArithmeticError, NotLogged, TypeError, ValueError):
            return positions
        return sorted(failures)

    def text(self) -> str:
        return f"{super().text()}, in any order"


_INTERVAL = ceil(0.001 * 2_290_835_423 / BATCH) * BATCH
_FIRST = ceil(floor((4480 * BATCH + 135_331_840) / 3) / _INTERVAL) * _INTERVAL

# The verifier computes the grid when it reads the batch size: evaluations logged before that have
# none and fail
INTERVAL = as_of(k.GLOBAL_BATCH_SIZE, _INTERVAL)
"""DLRMv4: samples between evaluations, a thousandth of the training set in whole batches."""

FIRST = as_of(k.GLOBAL_BATCH_SIZE, _FIRST)
"""DLRMv4: samples before the first evaluation."""

GRID_COMPUTES = computes(_FIRST)
"""DLRMv4: the verifier computes both when the batch size is logged."""
