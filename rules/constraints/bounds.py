"""Constraints on one value: bounds, lists of values, types."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, ClassVar

from podium.logging_spec.reader.record import Record
from podium.rules.constraints.constraint import Constraint, computed, near
from podium.rules.constraints.formula import (
    Bound,
    Formula,
    bound_text,
    number_text,
    worked_out,
)
from podium.rules.run import Run

TOLERANCE = 1e-5
"""Tolerance within which a quotient counts as a whole number."""


class equals(Constraint, frozen=True):
    """The value equals the bound (floats within a relative 1e-9 unless `run.exact` is set)."""

    bound: Bound

    def test(self, value: Any, run: Run) -> bool:
        bound = self.bound.compute(run) if isinstance(self.bound, Formula) else self.bound
        # Python's comparison, as in the official verifier: 1, 1.0 and true are equal
        if value == bound:
            return True
        # The verifier compares floats to the last bit; the policy compares the numbers
        return not run.exact and _close(value, bound)

    def text(self) -> str:
        return bound_text(self.bound)

    def expected(self, run: Run | None) -> str:
        return worked_out(self.bound, run)

    def advice(self, key: str, run: Run | None) -> str:
        return f"set {key} to {self.expected(run)}"

    def only_value(self, run: Run) -> Any:
        return self.bound.compute(run) if isinstance(self.bound, Formula) else self.bound


def _close(value: Any, bound: Any) -> bool:
    # Whole numbers have no rounding error: 4_195_197_693 samples are not 4_195_197_692
    if isinstance(value, int) and isinstance(bound, int):
        return False
    return (
        isinstance(value, int | float)
        and isinstance(bound, int | float)
        and math.isclose(value, bound, rel_tol=1e-9)
    )


class Limit(Constraint, frozen=True):
    """Base of the constraints that compare a value with one bound."""

    bound: float | Formula
    compare: ClassVar[staticmethod[[Any, Any], bool]]
    word: ClassVar[str]

    def test(self, value: Any, run: Run) -> bool:
        bound = self.bound.compute(run) if isinstance(self.bound, Formula) else self.bound
        return bool(self.compare(value, bound))

    @property
    def is_constant(self) -> bool:
        # Unlike `equals`, which compares floats differently in the two profiles
        return not isinstance(self.bound, Formula)

    def text(self) -> str:
        return f"{self.word} {bound_text(self.bound)}"

    def expected(self, run: Run | None) -> str:
        return f"{self.word} {worked_out(self.bound, run)}"


class at_least(Limit, frozen=True):
    """The value is the bound or more."""

    compare = staticmethod(operator.ge)
    word = "at least"


class at_most(Limit, frozen=True):
    """The value is the bound or less."""

    compare = staticmethod(operator.le)
    word = "at most"


class above(Limit, frozen=True):
    """The value is more than the bound."""

    compare = staticmethod(operator.gt)
    word = "above"


class below(Limit, frozen=True):
    """The value is less than the bound."""

    compare = staticmethod(operator.lt)
    word = "below"


class OneOf(Constraint, frozen=True):
    """The value is one of a list."""

    options: tuple[Any, ...]

    def test(self, value: Any, run: Run) -> bool:
        return value in self.options

    def text(self) -> str:
        return "one of " + ", ".join(bound_text(option) for option in self.options)

    def advice(self, key: str, run: Run | None) -> str:
        return f"set {key} to one of {', '.join(bound_text(option) for option in self.options)}"


class not_empty(Constraint, frozen=True):
    """The value is anything except an empty string."""

    def test(self, value: Any, run: Run) -> bool:
        return bool(value != "")

    def text(self) -> str:
        return "not empty"

    def advice(self, key: str, run: Run | None) -> str:
        return f"state {key}"


class whole(Constraint, frozen=True):
    """The value is a whole number, within 1e-5."""

    def test(self, value: Any, run: Run) -> bool:
        return near_whole(value)

    def text(self) -> str:
        return "a whole number"


def near_whole(number: Any) -> bool:
    """Whether a number is whole within the verifier's tolerance; raises on other types."""
    return bool(abs(round(number) - number) < TOLERANCE)


class multiple_of(Constraint, frozen=True):
    """The value is a whole multiple of the step, within 1e-5 of the quotient."""

    step: float

    def test(self, value: Any, run: Run) -> bool:
        return near_whole(value / self.step)

    def text(self) -> str:
        return f"a multiple of {number_text(self.step)}"


class power_of_two_times(Constraint, frozen=True):
    """The value is the unit times 2**N, N whole, within 1e-5 of N."""

    unit: float

    def test(self, value: Any, run: Run) -> bool:
        return near_whole(math.log2(value / self.unit))

    def text(self) -> str:
        return f"{number_text(self.unit)} * 2**N, N whole"


class close_to(Constraint, frozen=True):
    """The value differs from the bound by no more than an absolute tolerance."""

    bound: float | Formula
    within: float

    def test(self, value: Any, run: Run) -> bool:
        bound = self.bound.compute(run) if isinstance(self.bound, Formula) else self.bound
        return bool(abs(value - bound) < self.within)

    def text(self) -> str:
        return f"{bound_text(self.bound)}, within {self.within}"

    def expected(self, run: Run | None) -> str:
        return f"{worked_out(self.bound, run)}, within {self.within}"

    def only_value(self, run: Run) -> Any:
        return self.bound.compute(run) if isinstance(self.bound, Formula) else self.bound


class nearly(Constraint, frozen=True):
    """The value is the bound within a relative 1e-9."""

    bound: float

    def test(self, value: Any, run: Run) -> bool:
        return math.isclose(value, self.bound)

    def text(self) -> str:
        return number_text(self.bound)

    def only_value(self, run: Run) -> Any:
        return self.bound


class of_type(Constraint, frozen=True):
    """The value has a JSON type: "int", "bool"."""

    type: str

    def test(self, value: Any, run: Run) -> bool:
        return isinstance(value, {"int": int, "bool": bool}[self.type])

    def text(self) -> str:
        return {"int": "an integer", "bool": "true or false"}[self.type]


class truthy(Constraint, frozen=True):
    """The value is true (or anything that counts as true)."""

    def test(self, value: Any, run: Run) -> bool:
        return bool(value)

    def text(self) -> str:
        return "true"


class AnyOf(Constraint, frozen=True):
    """At least one of several constraints is satisfied."""

    options: tuple[Constraint, ...]

    def test(self, value: Any, run: Run) -> bool:
        return any(option.test(value, run) for option in self.options)

    def text(self) -> str:
        return " or ".join(option.text() for option in self.options)

    def expected(self, run: Run | None) -> str:
        return " or ".join(option.expected(run) for option in self.options)


def one_of(*options: Any) -> OneOf:
    """The value is one of these."""
    return OneOf(options)


def any_of(*options: Constraint) -> AnyOf:
    """At least one of these is satisfied."""
    return AnyOf(options)


class product_equals(Constraint, frozen=True):
    """The value times a factor is exactly the bound, in floating point."""

    factor: float
    bound: Formula

    def test(self, value: Any, run: Run) -> bool:
        # The official verifier multiplies and compares exactly, so some exact quotients fail, too
        return bool(value * self.factor == self.bound.compute(run))

    def text(self) -> str:
        return f"{self.bound.text} / {number_text(self.factor)}"

    def expected(self, run: Run | None) -> str:
        return worked_out(self.bound / self.factor, run)

    def candidates(self, run: Run) -> Iterator[Any]:
        yield from near(computed(self.bound, run))
        yield from near(computed(self.bound / self.factor, run))

    def only_value(self, run: Run) -> Any:
        return self.bound.compute(run) / self.factor


class computes(Constraint, frozen=True):
    """A formula over the keys logged so far can be computed, as the verifier does here."""

    bound: Formula

    def holds(self, record: Record, run: Run) -> bool:
        # The verifier computes after it has read this record, so the value counts as logged
        run.position += 1
        try:
            self.bound.compute(run)
        finally:
            run.position -= 1
        return True

    def text(self) -> str:
        return f"{self.bound.text} can be computed"

    def expected(self, run: Run | None) -> str:
        return worked_out(self.bound, run)

    def says(self, record: Record, run: Run | None) -> str:
        return f"{self.bound.text} cannot be computed when {record.key} is logged"

    def advice(self, key: str, run: Run | None) -> str:
        return f"log {' and '.join(self.bound.needs)} as numbers before {key}"
