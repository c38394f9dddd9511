"""Constraints of single benchmarks: stretched schedules, bounds that depend on the batch size."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from podium.logging_spec import keys as k
from podium.rules.constraints.bounds import near_whole
from podium.rules.constraints.constraint import Constraint, computed, near
from podium.rules.constraints.formula import (
    Formula,
    logged,
    number_text,
    show,
    worked_out,
)
from podium.rules.constraints.order import init_within
from podium.rules.run import Run

BATCH = logged(k.GLOBAL_BATCH_SIZE)


class small_batch_multiple(Constraint, frozen=True):
    """A whole multiple of the step; small batches may also use a whole fraction of the step."""

    looks_up: ClassVar[tuple[str, ...]] = ("global_batch_size",)

    step: float
    below: int

    def test(self, value: Any, run: Run) -> bool:
        if near_whole(value / self.step):
            return True
        batch = run.logged("global_batch_size")
        return bool(batch < self.below and near_whole(self.step / value))

    def text(self) -> str:
        step = number_text(self.step)
        return f"K * {step}, or {step} / K if global_batch_size < {self.below}, K whole"


class second_boundary(Constraint, frozen=True):
    """The second decay boundary is 50 epochs, stretched by a whole number of tenths."""

    def test(self, value: Any, run: Run) -> bool:
        # A list of one item raises, which counts as a violation, as in the official verifier
        return near_whole((value[1] / 50 - 1) / 0.1)

    def text(self) -> str:
        return "a second boundary of 50 * (1 + K/10), K whole"


class relaxed_target(Constraint, frozen=True):
    """The target is lower for large batches."""

    looks_up: ClassVar[tuple[str, ...]] = ("global_batch_size",)

    target: float
    relaxed: float
    from_batch: int

    def test(self, value: Any, run: Run) -> bool:
        large = run.logged("global_batch_size") >= self.from_batch
        return bool(value >= (self.relaxed if large else self.target))

    def text(self) -> str:
        return (
            f"at least {self.target}, or {self.relaxed} if global_batch_size is at least "
            f"{self.from_batch}"
        )


class rounded(Constraint, frozen=True):
    """The value of a formula, exact or rounded to a number of decimals."""

    bound: Formula
    digits: int

    def test(self, value: Any, run: Run) -> bool:
        bound = self.bound.compute(run)
        # Allows for the rounding error of the formula itself
        return bool(abs(value - bound) <= 0.5 / 10.0**self.digits + 1e-9 * abs(bound))

    def text(self) -> str:
        return f"{self.bound.text}, {self._tolerance()}"

    def _tolerance(self) -> str:
        return f"rounded to {self.digits} decimals (within {0.5 / 10.0**self.digits:g})"

    def expected(self, run: Run | None) -> str:
        return f"{worked_out(self.bound, run)}, {self._tolerance()}"

    def only_value(self, run: Run) -> Any:
        return round(self.bound.compute(run), self.digits)


class by_batch_size(Constraint, frozen=True):
    """The value is one of the values for the band of the global batch size; free outside all bands.

    A band is (smallest batch, largest batch, values).
    """

    looks_up: ClassVar[tuple[str, ...]] = ("global_batch_size",)

    bands: tuple[tuple[int, int, tuple[float, ...]], ...]

    def test(self, value: Any, run: Run) -> bool:
        values = self._allowed(run)
        return not values or any(math.isclose(value, candidate) for candidate in values)

    def text(self) -> str:
        return "; ".join(
            f"{' or '.join(map(number_text, values))} for global_batch_size {low} to {high}"
            for low, high, values in self.bands
        )

    def only_value(self, run: Run) -> Any:
        values = self._allowed(run)
        return values[0] if len(values) == 1 else None

    def _allowed(self, run: Run) -> tuple[float, ...]:
        """The values of the first band that contains the batch size; none outside all bands."""
        batch = run.logged("global_batch_size")
        return next((values for low, high, values in self.bands if low <= batch <= high), ())


class fixed_below_batch(Constraint, frozen=True):
    """The value is fixed below a batch size and free from there on."""

    looks_up: ClassVar[tuple[str, ...]] = ("global_batch_size",)

    bound: float
    batch: int

    def test(self, value: Any, run: Run) -> bool:
        small = run.logged("global_batch_size") < self.batch
        return not small or math.isclose(value, self.bound)

    def text(self) -> str:
        return f"{number_text(self.bound)} if global_batch_size is below {number_text(self.batch)}"

    def only_value(self, run: Run) -> Any:
        return self.bound if run.logged("global_batch_size") < self.batch else None


class stretched(Constraint, frozen=True):
    """The boundaries of a schedule, all stretched by the same 1 + K/10, K whole.

    With `batch`, the boundaries are steps at that batch size. A larger batch has fewer steps,
    rounded to within one step.
    """

    boundaries: tuple[int, ...]
    batch: int = 0

    def needs(self) -> tuple[str, ...]:
        return ("global_batch_size",) if self.batch else ()

    def test(self, value: Any, run: Run) -> bool:
        scale, slack = 1.0, 1e-3
        if self.batch:
            scale, slack = self.batch / run.logged("global_batch_size"), 1.0
        tenths = round((value[0] / (self.boundaries[0] * scale) - 1) * 10)
        boundaries = [boundary * scale * (1 + tenths / 10) for boundary in self.boundaries]
        return (
            # At -10 every boundary would be 0 and any schedule of zeros would pass
            tenths > -10
            and len(value) == len(boundaries)
            and all(
                abs(actual - expected) <= slack
                for actual, expected in zip(value, boundaries, strict=True)
            )
        )

    def text(self) -> str:
        boundaries = f"[{', '.join(map(number_text, self.boundaries))}] * (1 + K/10)"
        scale = f" * {self.batch} / global_batch_size" if self.batch else ""
        return f"{boundaries}{scale}, K whole"

    def candidates(self, run: Run) -> Iterator[Any]:
        scale = self.batch / run.logged("global_batch_size") if self.batch else 1
        yield [round(boundary * scale) for boundary in self.boundaries]
        yield [round(boundary * scale * 1.25) for boundary in self.boundaries]
        yield from Constraint.candidates(self, run)


class cube(Constraint, frozen=True):
    """The shape of a cube; a last axis for channels is allowed."""

    side: int

    def test(self, value: Any, run: Run) -> bool:
        sides = list(value)
        return len(sides) in (3, 4) and sides[:3] == [self.side] * 3

    def text(self) -> str:
        return f"[{self.side}, {self.side}, {self.side}]"

    def candidates(self, run: Run) -> Iterator[Any]:
        yield from ([self.side] * 3, [self.side * 2] * 3)
        yield from near(self.side)

    def only_value(self, run: Run) -> Any:
        return [self.side] * 3


class each_item(Constraint, frozen=True):
    """Every item of a list obeys; unless `listed`, a single number counts as a list of one item."""

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
        return f"a list, each item {items}" if self.listed else f"{items} (each item of a list)"

    def candidates(self, run: Run) -> Iterator[Any]:
        for inner in self.inner:
            yield from ([value] for value in inner.candidates(run))
        yield from Constraint.candidates(self, run)


class one_of_ignoring_case(Constraint, frozen=True):
    """The value is one of these words; case is ignored."""

    words: tuple[str, ...]

    def test(self, value: Any, run: Run) -> bool:
        return value.lower() in self.words

    def text(self) -> str:
        return "one of " + ", ".join(map(show, self.words)) + " (case-insensitive)"


class init_longer_for(init_within, frozen=True):
    """Like `init_within`, but one benchmark has more minutes in the closed division."""

    benchmark: str = ""
    minutes: float = 0

    looks_up: ClassVar[tuple[str, ...]] = ("submission_division", "submission_benchmark")

    def limit(self, run: Run) -> float:
        limit = init_within.limit(self, run)
        # The limit of the open division exceeds the extended limit of any benchmark
        if limit == self.closed and run.value("submission_benchmark") == self.benchmark:
            return self.minutes
        return limit

    def text(self) -> str:
        return f"{init_within.text(self)}; {self.minutes:g} minutes for {self.benchmark} (closed)"


class within_factors(Constraint, frozen=True):
    """The value is between two multiples of a formula, with a relative tolerance of 1e-9."""

    unit: Formula
    low: float
    high: float

    def test(self, value: Any, run: Run) -> bool:
        unit = self.unit.compute(run)
        # The products are rounded: without a tolerance a rate exactly on a bound could fail
        low, high = self.low * unit, self.high * unit
        return bool(low * (1 - 1e-9) <= value <= high * (1 + 1e-9))

    def text(self) -> str:
        return f"from {self.low} to {self.high} times {self.unit.text}"

    def expected(self, run: Run | None) -> str:
        return (
            f"{worked_out(self.low * self.unit, run)} to {worked_out(self.high * self.unit, run)}"
        )

    def candidates(self, run: Run) -> Iterator[Any]:
        yield from Constraint.candidates(self, run)
        yield from near(computed(self.unit * self.low, run))


class batch_is_prompts_times(Constraint, frozen=True):
    """The global batch size is the prompts per step times the roll-outs per prompt."""

    looks_up: ClassVar[tuple[str, ...]] = ("global_batch_size", "num_prompts_per_step")

    def test(self, value: Any, run: Run) -> bool:
        prompts = run.logged("num_prompts_per_step")
        return bool(run.logged("global_batch_size") == prompts * value)

    def text(self) -> str:
        return "global_batch_size / num_prompts_per_step"

    def candidates(self, run: Run) -> Iterator[Any]:
        yield self.only_value(run)

    def only_value(self, run: Run) -> Any:
        return run.logged("global_batch_size") / run.logged("num_prompts_per_step")
