"""A result as a row of the score report, and the result it was made from."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podium.compliance.judging.results.result import Result
from podium.compliance.tools.scoring.report import ScoreEntry
from podium.compliance.tools.scoring.row import row_of


class ScoredResult(msgspec.Struct, frozen=True):
    """One row, and the result behind it; the row's run_list is in the order of the runs."""

    result: Result
    entry: ScoreEntry


def scored(result: Result) -> ScoredResult:
    """The result with its row."""
    return ScoredResult(result, row_of(result))


def by_path(results: Iterable[ScoredResult]) -> list[ScoredResult]:
    """Rows in the order of their paths."""
    # Loose logs of several benchmarks share a folder, and with it the path
    return sorted(
        results, key=lambda one: (one.result.place.display_path, one.result.place.benchmark)
    )
