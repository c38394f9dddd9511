"""Which other keys a constraint looks at: until they are logged its verdict is not final."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium.rules.constraints import benchmark_constraints as s
from podium.rules.constraints.bounds import Constraint
from podium.rules.constraints.formula import Formula
from podium.rules.constraints.order import init_within

_BATCH = ("global_batch_size",)

LOOKED_UP: tuple[tuple[type[Constraint], tuple[str, ...]], ...] = (
    (s.init_longer_for, ("submission_division", "submission_benchmark")),
    (init_within, ("submission_division",)),
    (s.small_batch_multiple, _BATCH),
    (s.relaxed_target, _BATCH),
    (s.by_batch_size, _BATCH),
    (s.fixed_below_batch, _BATCH),
    (s.stretched, _BATCH),
    (s.batch_is_prompts_times, ("global_batch_size", "num_prompts_per_step")),
)
"""Words that look at keys of their own, beside those of their formulas."""


def needs_of(constraint: Constraint) -> frozenset[str]:
    """The keys that a constraint looks at, wherever they stand in the log."""
    return frozenset(_needs(constraint))


def needs_of_all(constraints: Iterable[Constraint]) -> frozenset[str]:
    """The keys that any of the constraints looks at."""
    return frozenset(key for each in constraints for key in needs_of(each))


def _needs(constraint: Constraint) -> Iterator[str]:
    for word, keys in LOOKED_UP:
        if isinstance(constraint, word):
            yield from keys
    for value in constraint.parts():
        if isinstance(value, Formula):
            yield from value.needs
        elif isinstance(value, Constraint):
            yield from needs_of(value)
