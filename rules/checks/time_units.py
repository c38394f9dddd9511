"""The unit of times that are not milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

EARLIEST_MS, LATEST_MS = 1e12, 4e12
"""September 2001 and October 2096: a clock outside is not set, or counts another unit."""

_UNITS = (
    # From 2017 to 2042. A clock in milliseconds since the start of a machine may also be in this
    # range; the length of the run tells them apart
    ("seconds", 1.5e9, 2.3e9, "1000 times too good"),
    ("microseconds", 1e15, 4e15, "1000 times too bad"),
    ("nanoseconds", 1e18, 4e18, "1000000 times too bad"),
    # Counted from 1601, as Windows does, and from year 1, as .NET does
    ("units of 100 ns", 1.3e17, 1.4e17, "10000 times too bad"),
    ("units of 100 ns", 6.3e17, 6.5e17, "10000 times too bad"),
)

_COARSE = (
    # The same years as those of seconds
    ("minutes", 60),
    ("hours", 3600),
    ("days", 86_400),
)
"""Units longer than a second, in seconds: their times are also plausible milliseconds, so only the
length of a run shows them."""

_SHORTEST_RUN_MS = 8_000.0
"""No published run of 0.7 or later is shorter; the same number of seconds is over two hours."""

_LONGEST_SPAN = 2e6
"""Time from the first to the last record: 23 days in seconds, half an hour in milliseconds."""


class OtherUnit(msgspec.Struct, frozen=True):
    """Times that are not milliseconds.

    `effect` is the effect on the score, `first` the index of the first such time, and `count` the
    number of such times.
    """

    unit: str
    effect: str
    first: int
    count: int


def other_unit(times: Sequence[float]) -> OtherUnit | None:
    """The unit of times that are not milliseconds; None if all may be milliseconds."""
    if not times or (min(times) >= EARLIEST_MS and max(times) <= LATEST_MS):
        return None
    for unit, low, high, effect in _UNITS:
        indices = [index for index, time in enumerate(times) if low <= time <= high]
        if not indices:
            continue
        span = max(times) - min(times)
        # No time can be this small in a log whose other times are milliseconds since 1970
        if unit != "seconds" or span <= _LONGEST_SPAN or max(times) >= EARLIEST_MS:
            return OtherUnit(unit, effect, indices[0], len(indices))
    return None


def unit_of_short_run(start: float, stop: float) -> OtherUnit | None:
    """The unit of times of a run that would be too short if they were milliseconds.

    Otherwise they are seconds of a clock that does not count from 1970.
    """
    if max(start, stop) >= EARLIEST_MS or not 0 < stop - start < _SHORTEST_RUN_MS:
        return None
    _, earliest, latest, effect = _UNITS[0]
    for unit, seconds in _COARSE:
        if earliest <= start * seconds <= latest:
            return OtherUnit(unit, f"{seconds * 1000} times too good", 0, 2)
    return OtherUnit("seconds", effect, 0, 2)
