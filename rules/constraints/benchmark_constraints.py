"""Constraints that a single benchmark needs: grids of evaluations, stretched schedules."""

from __future__ import annotations

import math
from typing import Any

from podium.logging_spec import keys as k
from podium.logging_spec.reader.record import Record
from podium.rules.constraints.bounds import Constraint, computes, near_whole
from podium.rules.constraints.formula import (
    Formula,
    as_of,
    ceil,
    floor,
    logged,
    number_text,
    show,
    worked_out,
)
from podium.rules.constraints.order import init_within
from podium.rules.run import Run

BATCH = logged(k.GLOBAL_BATCH_SIZE)


class small_batch_multiple(Constraint, frozen=True):
    """A whole multiple of the step; a small batch may also use a whole fraction of it."""

    step: float
    below: int

    def test(self, value: Any, run: Run) -> bool:
        if near_whole(value / self.step):
            return True
        batch = run.logged("global_batch_size")
        return bool(batch < self.below and near_whole(self.step / value))

    def text(self) -> str:
        step = number_text(self.step)
        return f"K * {step}, or {step} / K where global_batch_size < {self.below}, K whole"


class second_boundary(Constraint, frozen=True):
    """The second decay boundary is 50 epochs stretched by a whole number of tenths."""

    def test(self, value: Any, run: Run) -> bool:
        return near_whole((value[1] / 50 - 1) / 0.1)

    def text(self) -> str:
        return "a second boundary of 50 * (1 + K/10), K whole"


class relaxed_target(Constraint, frozen=True):
    """The target is lower for large batches."""

    target: float
    relaxed: float
    from_batch: int

    def test(self, value: Any, run: Run) -> bool:
        large = run.logged("global_batch_size") >= self.from_batch
        return bool(value >= (self.relaxed if large else self.target))

    def text(self) -> str:
        return (
            f"at least {self.target}, or {self.relaxed} where global_batch_size is at least "
            f"{self.from_batch}"
        )


class rounded(Constraint, frozen=True):
    """The value is a formula's, exactly or rounded to a number of decimals."""

    bound: Formula
    digits: int

    def test(self, value: Any, run: Run) -> bool:
        bound = self.bound.compute(run)
        return bool(abs(value - bound) <= 0.5 * 10**-self.digits + 1e-9 * abs(bound))

    def text(self) -> str:
        return f"{self.bound.text}, rounded to {self.digits} decimals"

    def expected(self, run: Run | None) -> str:
        return f"{worked_out(self.bound, run)}, rounded to {self.digits} decimals"


class by_batch_size(Constraint, frozen=True):
    """The value is one of those that the band of the global batch size allows; free outside.

    A band is (smallest batch, largest batch, values).
    """

    bands: tuple[tuple[int, int, tuple[float, ...]], ...]

    def test(self, value: Any, run: Run) -> bool:
        batch = run.logged("global_batch_size")
        allowed = [values for low, high, values in self.bands if low <= batch <= high]
        return not allowed or any(math.isclose(value, one) for one in allowed[0])

    def text(self) -> str:
        return "; ".join(
            f"{' or '.join(map(number_text, values))} for global_batch_size {low} to {high}"
            for low, high, values in self.bands
        )


class fixed_below_batch(Constraint, frozen=True):
    """The value is fixed for small batches and free from a batch size on."""

    bound: float
    batch: int

    def test(self, value: Any, run: Run) -> bool:
        small = run.logged("global_batch_size") < self.batch
        return not small or math.isclose(value, self.bound)

    def text(self) -> str:
        return (
            f"{number_text(self.bound)} where global_batch_size is below {number_text(self.batch)}"
        )


class stretched(Constraint, frozen=True):
    """A schedule's boundaries, all stretched by the same 1 + K/10, K whole.

    With `batch`, they are steps at that batch size: fewer at a larger one, whole within a step.
    """

    boundaries: tuple[int, ...]
    batch: int = 0

    def test(self, value: Any, run: Run) -> bool:
        scale, slack = 1.0, 1e-3
        if self.batch:
            scale, slack = self.batch / run.logged("global_batch_size"), 1.0
        tenths = round((value[0] / (self.boundaries[0] * scale) - 1) * 10)
        due = [boundary * scale * (1 + tenths / 10) for boundary in self.boundaries]
        return (
            tenths > -10
            and len(value) == len(due)
            and all(abs(given - wanted) <= slack for given, wanted in zip(value, due, strict=True))
        )

    def text(self) -> str:
        boundaries = f"[{', '.join(map(number_text, self.boundaries))}] * (1 + K/10)"
        scale = f" * {self.batch} / global_batch_size" if self.batch else ""
        return f"{boundaries}{scale}, K whole"


class cube(Constraint, frozen=True):
    """The shape of a cube, a last axis for channels allowed."""

    side: int

    def test(self, value: Any, run: Run) -> bool:
        sides = list(value)
        return len(sides) in (3, 4) and sides[:3] == [self.side] * 3

    def text(self) -> str:
        return f"[{self.side}, {self.side}, {self.side}]"


class each_item(Constraint, frozen=True):
    """Every item of a list obeys; unless `listed`, a single number stands for a list of one."""

    inner: tuple[Constraint, ...]
    listed: bool = False

    def test(self, value: Any, run: Run) -> bool:
        if not isinstance(value, list):
            if self.listed:
                return False
            value = [value]
        return all(inner.test(item, run) for item in value for inner in self.inner)

    def text(self) -> str:
        items = " and ".join(inner.text() for inner in self.inner)
        return f"a list, each item {items}" if self.listed else f"{items} (each, of a list)"


class one_of_ignoring_case(Constraint, frozen=True):
    """The value is one of these words, in capitals or not."""

    words: tuple[str, ...]

    def test(self, value: Any, run: Run) -> bool:
        return value.lower() in self.words

    def text(self) -> str:
        return "one of " + ", ".join(map(show, self.words)) + " (in capitals or not)"


class init_longer_for(init_within, frozen=True):
    """As `init_within`, but one benchmark has more minutes in the closed division."""

    benchmark: str = ""
    minutes: float = 0

    def limit(self, run: Run) -> float:
        usual = init_within.limit(self, run)
        if usual == self.closed and run.value("submission_benchmark") == self.benchmark:
            return self.minutes
        return usual

    def text(self) -> str:
        return f"{init_within.text(self)}; {self.minutes:g} minutes for {self.benchmark} (closed)"


class within_factors(Constraint, frozen=True):
    """The value lies between two multiples of a formula, with a relative slack of 1e-9."""

    unit: Formula
    low: float
    high: float

    def test(self, value: Any, run: Run) -> bool:
        unit = self.unit.compute(run)
        low, high = self.low * unit, self.high * unit
        return bool(low * (1 - 1e-9) <= value <= high * (1 + 1e-9))

    def text(self) -> str:
        return f"from {self.low} to {self.high} times {self.unit.text}"

    def expected(self, run: Run | None) -> str:
        return (
            f"{worked_out(self.low * self.unit, run)} to {worked_out(self.high * self.unit, run)}"
        )


class batch_is_prompts_times(Constraint, frozen=True):
    """The global batch is the prompts of a step times the roll-outs of each."""

    def test(self, value: Any, run: Run) -> bool:
        prompts = run.logged("num_prompts_per_step")
        return bool(run.logged("global_batch_size") == prompts * value)

    def text(self) -> str:
        return "global_batch_size / num_prompts_per_step"


class _OnSamples(Constraint, frozen=True):
    """Base of constraints on the samples_count of evaluations."""

    def at(self, record: Record) -> int:
        """The record's samples_count as an integer; raises where it is none."""
        return int(record.metadata["samples_count"])

    def actual(self, record: Record) -> Any:
        return record.metadata.get("samples_count") if isinstance(record.metadata, dict) else None

    def says(self, record: Record, run: Run | None) -> str:
        at = show(self.actual(record))
        return f"{record.key} is at samples_count {at}; must be at {self.expected(run)}"

    def advice(self, key: str, run: Run | None) -> str:
        return f"evaluate at {self.expected(run)} samples"


class first_evaluation(_OnSamples, frozen=True):
    """The first evaluation comes after exactly this many samples."""

    samples: Formula

    def holds(self, record: Record, run: Run) -> bool:
        return self.at(record) == self.samples.compute(run)

    def text(self) -> str:
        return f"first at {self.samples.text} samples"

    def expected(self, run: Run | None) -> str:
        return worked_out(self.samples, run)


class on_multiples_of(_OnSamples, frozen=True):
    """Evaluations come after multiples of an interval in samples."""

    interval: Formula

    def holds(self, record: Record, run: Run) -> bool:
        return bool(record.metadata["samples_count"] % self.interval.compute(run) == 0)

    def text(self) -> str:
        return f"at multiples of {self.interval.text} samples"

    def expected(self, run: Run | None) -> str:
        return f"a multiple of {worked_out(self.interval, run)}"


class every_batch_from(_OnSamples, frozen=True):
    """Evaluations start at a given sample count and then come after every batch, none skipped."""

    start: Formula

    def broken(self, positions: list[int], run: Run) -> list[int]:
        batches = run.where.get("global_batch_size", [])
        due: Any = None
        batch: Any = None
        failed = []
        for index in sorted([*batches, *positions]):
            record = run.records[index]
            try:
                if record.key == "global_batch_size":
                    batch = record.value
                    run.position = index + 1
                    due = self.start.compute(run)
                elif record.metadata["samples_count"] == due:
                    due += batch
                else:
                    failed.append(index)
            except Exception:
                if record.key != "global_batch_size":
                    failed.append(index)
        return failed

    def holds(self, record: Record, run: Run) -> bool:
        here = run.position
        try:
            return here not in self.broken(run.where[record.key], run)
        finally:
            run.position = here

    def text(self) -> str:
        return f"at {self.start.text} samples first, then after every batch"


_INTERVAL = ceil(0.001 * 2_290_835_423 / BATCH) * BATCH
_FIRST = ceil(floor((4480 * BATCH + 135_331_840) / 3) / _INTERVAL) * _INTERVAL

INTERVAL = as_of(k.GLOBAL_BATCH_SIZE, _INTERVAL)
"""DLRMv4: samples between evaluations, a thousandth of the training set in whole batches."""

FIRST = as_of(k.GLOBAL_BATCH_SIZE, _FIRST)
"""DLRMv4: samples before the first evaluation."""

GRID_COMPUTES = computes(_FIRST)
"""DLRMv4: the verifier works out both where the batch size is logged."""
