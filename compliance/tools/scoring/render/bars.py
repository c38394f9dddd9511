"""The scores of each benchmark as a bar chart for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.compliance.reporting.bars import Bar, bars

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores


def score_bars(scores: Scores, width: int) -> str:
    """A bar for each valid time; the fastest comes first in each benchmark and division."""
    timed = [
        result for result in scores.results if result.score is not None and result.scaling != "weak"
    ]
    timed.sort(key=lambda result: (result.benchmark, result.division, result.score or 0.0))
    lines = [
        Bar(
            f"{result.benchmark}, {result.division or 'no division'}: minutes",
            f"{result.submitter} {result.system}",
            result.score or 0.0,
            f"{result.score:.4g}",
        )
        for result in timed
    ]
    return bars(lines, width)
