"""When evaluations are due: the policy's evaluation grids."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Schedule:
    """To be widened by the checks."""
