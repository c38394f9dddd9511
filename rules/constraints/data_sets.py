"""The number of samples in the data set of a benchmark, in the units of logs."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor
from typing import Any, ClassVar

from podium.rules.constraints.bounds import near_whole
from podium.rules.constraints.constraint import Constraint, near
from podium.rules.constraints.formula import number_text
from podium.rules.run import Run

MOST_AT_ONCE = 32
"""Number of training batches in one evaluation batch; published logs have up to 16."""

EVALUATION_BATCHES = (256, 512, 1024, 2048)
"""Batch sizes of evaluations that are independent of the training batch size."""

LEAST_PART = 16
"""Fractions of a training batch in one evaluation batch."""


class samples_of(Constraint, frozen=True):  # noqa: N801 - a word of the tables
    """The value is the number of samples in a data set, or the number of its batches.

    Logs count samples, with the last batch padded to a whole one (with `drops`: or left out), or
    batches, which have another size in evaluations. `sizes` are the known sizes of the data set:
    with and without samples that have no annotation. Source: training rules, Data Set and
    Equivalence exceptions (the last partial batch).
    """

    looks_up: ClassVar[tuple[str, ...]] = ("global_batch_size",)

    sizes: tuple[int, ...]
    drops: bool = False

    def test(self, value: Any, run: Run) -> bool:
        if value in self.sizes:
            return True
        batch = run.logged("global_batch_size")
        return near_whole(value) and any(
            self._padded(value, size, batch) or self._counts_batches(value, size / batch, batch)
            for size in self.sizes
        )

    def _padded(self, value: float, size: int, batch: float) -> bool:
        minimum = floor(size / batch) * batch if self.drops else size
        return bool(0 < minimum <= value <= ceil(size / batch) * batch)

    def _counts_batches(self, value: float, batches: float, batch: float) -> bool:
        if self.drops:
            return value > 0 and value in (floor(batches), ceil(batches))
        quotients = (batches / times for times in range(1, MOST_AT_ONCE + 1))
        products = (batches * factor for factor in range(2, LEAST_PART + 1))
        # No key gives the batch size of an evaluation, which is usually a power of two
        batch_counts = (batches * batch / size for size in EVALUATION_BATCHES)
        return any(value == ceil(count) for count in (*quotients, *products, *batch_counts))

    def text(self) -> str:
        sizes = " or ".join(map(number_text, self.sizes))
        padding = "with or without the last partial batch" if self.drops else "or padded to a batch"
        return f"{sizes} samples, {padding}; or the number of batches"

    def advice(self, key: str, run: Run | None) -> str:
        return f"use the whole data set, and log its {number_text(self.sizes[0])} samples"

    def candidates(self, run: Run) -> Iterator[Any]:
        for size in self.sizes:
            # Half a data set may be a number of batches; a few samples less never are
            yield from (size, size - 7, size * 3, *near(size))
