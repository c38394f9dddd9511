"""Hyperparameters of the reference's runs, from the convergence points in `rules`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from podium.rules.convergence.data import points_of

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class ReferencePoint:
    """The reference convergence point that supplies a config's settings at reference scale."""

    usage: Literal["training", "hpc"]
    round: str
    benchmark: str
    id: str

    def settings(self) -> Mapping[str, Any]:
        """The point's hyperparameters by key; raises LookupError if the point does not exist."""
        for point in points_of(self.usage, self.round, self.benchmark):
            if point.id == self.id:
                return {"global_batch_size": int(point.batch_size), **point.hyperparameters}
        raise LookupError(f"{self.usage} {self.round} has no convergence point {self.id}")
