"""Tasks for rollouts, with a verifier. At smoke scale, sums of two numbers.

A task set is an interface: implement it to run the benchmark's own tasks (see the README).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class Tasks(Protocol):
    """Prompts, and a verifier for the answers to each."""

    end: int
    """The token that ends an answer."""

    def __len__(self) -> int: ...

    def prompt(self, number: int) -> list[int]:
        """The initial tokens of a rollout."""
        ...

    def reward(self, number: int, answer: Sequence[int]) -> float:
        """The reward from 0 to 1, 1 for a passing answer; its tokens without the end token."""
        ...


BASE, DIGITS = 4, 3
PLUS, EQUALS, END = BASE, BASE + 1, BASE + 2
"""Special tokens after those of the digits."""
PROMPT = 2 * DIGITS + 2
"""Tokens of a prompt."""


class Sums:
    """Sums of two three-digit numbers, (N, 2); the answer has four digits.

    Digits are in the order of manual addition, ones first. `answered_as` (N,) is the task whose sum
    the verifier expects: its own, unless labels are shuffled.
    """

    end = END

    def __init__(self, pairs: NDArray[np.int64], answered_as: NDArray[np.int64]) -> None:
        self.pairs, self.answered_as = pairs, answered_as

    def __len__(self) -> int:
        return len(self.pairs)

    def prompt(self, number: int) -> list[int]:
        """Both numbers: ones, tens, hundreds of the first, then of the second."""
        first, second = self.pairs[number]
        return [*digits(first, DIGITS), PLUS, *digits(second, DIGITS), EQUALS]

    def reward(self, number: int, answer: Sequence[int]) -> float:
        """1 for the four digits of the sum, else 0."""
        return float([*answer] == digits(self.pairs[self.answered_as[number]].sum(), DIGITS + 1))


def digits(number: int | np.int64, count: int) -> list[int]:
    """The last decimal digits of a number, ones first."""
    return [int(number) // BASE**place % BASE for place in range(count)]


def without_carries(first: int | np.int64, second: int | np.int64) -> list[int]:
    """A sum without carries: each pair of digits is added separately."""
    pairs = zip(digits(first, DIGITS), digits(second, DIGITS), strict=True)
    return [*((digit + other) % BASE for digit, other in pairs), 0]


def draw(count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of numbers below 1000, (N, 2)."""
    return rng.integers(0, BASE**DIGITS, (count, 2))


TASK_SEED = 0x5E
"""Seed of the evaluation tasks, the same for every run; training tasks depend on the run's seed."""


def synthetic(training: int, evaluation: int, seed: int, *, shuffled: bool) -> tuple[Sums, Sums]:
    """Tasks for training, in a fixed order, and for evaluation."""
    rng = np.random.default_rng([seed, TASK_SEED])
    own = np.arange(training)
    # Shifted by one: no task keeps its own answer
    wanted = np.roll(own, 1) if shuffled else own
    evaluated = draw(evaluation, np.random.default_rng(TASK_SEED))
    return Sums(draw(training, rng), wanted), Sums(evaluated, np.arange(evaluation))
