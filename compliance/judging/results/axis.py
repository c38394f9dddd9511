"""The position of a reference on the axis of a curve whose log may use another unit."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def unit_share(ends: Sequence[float]) -> float | None:
    """One unit of convergence, in the unit of a log's axis.

    `ends` has a ratio for each run that converged: the last position in the log divided by the
    amount that the run needed to converge. A log may count epochs where the reference counts
    samples. Returns 1 if both units are the same, None without such runs.
    """
    if not ends:
        return None
    share = median(ends)
    # Evaluations may continue after the target is reached
    return 1.0 if 1 / 3 < share < 3 else share
