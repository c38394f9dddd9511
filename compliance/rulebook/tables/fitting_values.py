"""Values that obey several constraints at once, made from the fields of the constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from podium.logging_spec.reader.record import Record
from podium.rules.constraints import benchmark_constraints as special
from podium.rules.constraints import bounds as c
from podium.rules.constraints import evaluation_points, formula, members, order
from podium.rules.constraints.constraint import Constraint
from podium.rules.run import Run
from podium.rules.table import Row

_STRUCTURAL = (
    order.after,
    order.before,
    order.init_within,
    c.computes,
    evaluation_points.first_evaluation,
    evaluation_points.on_multiples_of,
    evaluation_points.every_batch_from,
)
"""Constraints on the position of a record, not on its value."""

USUAL_BY_TYPE: dict[str, Any] = {
    "int": 4,
    "float": 0.25,
    "bool": True,
    "str": "stated",
    "list": [1, 2],
    "object": {},
}

BATCHES = (1152, 8192, 16_384, 256)
"""Batch sizes to choose from: the reference's, where formulas start from one."""


def good_value(constraint: Constraint, run: Run | None = None) -> Any:
    """A value that obeys a constraint; `run` has the keys that its formulas use."""
    return good_values((constraint,), run or Run([]))


def good_values(constraints: Iterable[Constraint], run: Run, default: Any = 4) -> Any:
    """A value that obeys several constraints at once; raises LookupError if there is none."""
    subset = [constraint for constraint in constraints if is_about_value(constraint)]
    parts = [w for w in subset if isinstance(w, members.part) and w.path.startswith("value.")]
    names = [w.name for w in subset if isinstance(w, members.value_has)]
    if parts or names:
        names += [w.path.removeprefix("value.") for w in parts]
        return {name: _member(name, parts, run) for name in dict.fromkeys(names)}
    for value in (*_candidates(subset, run), default, *USUAL_BY_TYPE.values(), 1, 0, 0.5):
        if all(obeys(constraint, value, run) for constraint in subset):
            return value
    raise LookupError(f"no value obeys {[constraint.text() for constraint in subset]}")


def _member(name: str, parts: list[members.part], run: Run) -> Any:
    inner = [member.inner for member in parts if member.path == f"value.{name}"]
    return good_values(inner, run, 0.5)


def is_about_value(constraint: Constraint) -> bool:
    """Whether a constraint is about the value of a record, not its position."""
    if isinstance(constraint, members.part):
        return not constraint.path.startswith("metadata.")
    has_value = isinstance(constraint, members.value_has)
    return has_value or (type(constraint).holds is Constraint.holds and not _is_order(constraint))


def _is_order(constraint: Constraint) -> bool:
    return isinstance(constraint, _STRUCTURAL) or type(constraint).__name__ == "in_sequence"


def obeys(constraint: Constraint, value: Any, run: Run) -> bool:
    """Whether a value obeys a constraint; a value of the wrong type does not."""
    run.position = len(run.records)
    try:
        return constraint.holds(Record("", 0, value, {}), run)
    except Exception:  # a value of the wrong type, of any kind
        return False


def _candidates(constraints: list[Constraint], run: Run) -> Iterator[Any]:
    """Values that the constraints name; then, for numbers, neighboring values."""
    run.position = len(run.records)
    values = [value for constraint in constraints for value in _named_by(constraint, run)]
    yield from values
    numbers = sorted({v for v in values if isinstance(v, int | float) and v - v == 0})
    yield from ((low + high) / 2 for low, high in pairwise(numbers))
    for number in numbers:
        yield from (number + 1, number - 1, number + 0.01, number - 0.01)
        yield from (number * 1.01, number * 0.99, number / 2)


def _named_by(constraint: Constraint, run: Run) -> Iterator[Any]:
    if isinstance(constraint, c.OneOf):
        yield from constraint.options
    elif isinstance(constraint, c.AnyOf):
        for option in constraint.options:
            yield from _named_by(option, run)
    elif isinstance(constraint, members.part):
        length = good_value(constraint.inner, run)
        yield [0.5] * max(1, int(length))
    elif isinstance(constraint, c.multiple_of):
        yield from (constraint.step, constraint.step * 2)
    elif isinstance(constraint, c.of_type):
        yield {"int": 1, "bool": True}[constraint.type]
    elif isinstance(constraint, c.truthy):
        yield True
    elif isinstance(constraint, special.second_boundary):
        yield from ([40, 50], [44, 55])
    elif isinstance(constraint, c.product_equals):
        bound = computed(constraint.bound, run) / constraint.factor
        yield from (bound, *_beside(bound))
    elif isinstance(constraint, special.within_factors):
        unit = computed(constraint.unit, run)
        yield unit * (constraint.low + constraint.high) / 2
    elif isinstance(constraint, special.stretched):
        scale = constraint.batch / run.logged("global_batch_size") if constraint.batch else 1
        yield [boundary * scale for boundary in constraint.boundaries]
    elif isinstance(constraint, special.batch_is_prompts_times):
        yield run.logged("global_batch_size") // run.logged("num_prompts_per_step")
    else:
        for name in constraint.__struct_fields__:
            yield from _near_field(constraint, getattr(constraint, name), run)


def _near_field(constraint: Constraint, value: Any, run: Run) -> Iterator[Any]:
    """The values of a field of a constraint: itself, its items, and lists of them."""
    if isinstance(value, formula.Formula):
        yield computed(value, run)
    elif isinstance(value, Constraint):
        yield from _named_by(value, run)
    elif isinstance(value, tuple):
        inner = [candidate for item in value for candidate in _near_field(constraint, item, run)]
        yield from (inner, *inner, *([candidate] for candidate in inner))
    elif isinstance(value, int | float | str):
        yield from (value, [value] * 3)


def _beside(value: float) -> tuple[float, float]:
    return math.nextafter(value, 0), math.nextafter(value, math.inf)


def computed(expression: formula.Formula, run: Run) -> Any:
    """The value of a formula over all records of the run; raises as the formula does."""
    run.position = len(run.records)
    return expression.compute(run)


def all_of(row: Row) -> tuple[Constraint, ...]:
    """All constraints of a row on a record, of the policy and of the verifier."""
    return (*row.each, *row.first, *row.some, *(row.policy or ()), *(row.policy_some or ()))
