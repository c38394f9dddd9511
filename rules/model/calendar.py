"""The month in which each round was published: no run of it can be later.

Source: submission rules, Schedule of submission rounds, and the announcements of results. Logs are
submitted about four weeks earlier; runs that are repeated during review are later.
"""

from __future__ import annotations

from collections.abc import Mapping

PUBLISHED: Mapping[tuple[str, str], tuple[int, int]] = {
    ("training", "0.5"): (2018, 12),
    ("training", "0.6"): (2019, 7),
    ("training", "0.7"): (2020, 7),
    ("training", "1.0"): (2021, 6),
    ("training", "1.1"): (2021, 12),
    ("training", "2.0"): (2022, 6),
    ("training", "2.1"): (2022, 11),
    ("training", "3.0"): (2023, 6),
    ("training", "3.1"): (2023, 11),
    ("training", "4.0"): (2024, 6),
    ("training", "4.1"): (2024, 11),
    ("training", "5.0"): (2025, 6),
    ("training", "5.1"): (2025, 11),
    ("training", "6.0"): (2026, 6),
    ("hpc", "0.7"): (2020, 11),
    ("hpc", "1.0"): (2021, 11),
    ("hpc", "2.0"): (2022, 11),
    ("hpc", "3.0"): (2023, 11),
}
"""(year, month) by usage and round. A round that is not published yet is not listed."""


_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
"""Days of a year before each month, in a year without a leap day."""

_LEAPS_UNTIL_1970 = 477


def month_ms(year: int, month: int) -> float:
    """The start of a month, UTC, in milliseconds since 1970; months above 12 are in later years."""
    # By hand, because loading the calendar of the library slows down every start
    year, month = year + (month - 1) // 12, (month - 1) % 12
    # The leap day of this year counts from March on
    last = year if month > 1 else year - 1
    leaps = last // 4 - last // 100 + last // 400 - _LEAPS_UNTIL_1970
    return ((year - 1970) * 365 + leaps + _DAYS_BEFORE[month]) * 86_400_000.0
