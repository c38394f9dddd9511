"""When each round was published: the last month in which a run of it can have been made.

Source: submission rules, Schedule of submission rounds, and the announcements of results. Logs are
submitted some four weeks earlier; those repeated during review are younger.
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


def month_ms(year: int, month: int) -> float:
    """When a month begins, UTC, in milliseconds since 1970; months beyond 12 are of later years."""
    from calendar import timegm  # only where a submission is judged

    return timegm((year + (month - 1) // 12, (month - 1) % 12 + 1, 1, 0, 0, 0)) * 1000.0
