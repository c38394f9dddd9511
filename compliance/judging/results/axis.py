"""Where a reference lies on the axis of a curve, whose log may count in another unit."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def unit_share(ends: Sequence[float]) -> float | None:
    """What one unit of what convergence is counted in is on the axis that a log counts by.

    `ends` has a number for each run that converged: how far the log was at the end, over what the
    run took to converge. A log may count in epochs what the reference has in samples. 1 where both
    are the same; None without such runs.
    """
    if not ends:
        return None
    share = median(ends)
    # Evaluations may go on once the target is reached
    return 1.0 if 1 / 3 < share < 3 else share
