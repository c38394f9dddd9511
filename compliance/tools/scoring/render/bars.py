"""The scores of each benchmark as a bar chart for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.compliance.reporting.bars import Bar, bars

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores


def score_bars(scores: Scores, width: int) -> str:
    """A bar for each valid time; the fastest comes first in each benchmark and division."""
    timed = [each for each in scores.results if each.score is not None and each.scaling != "weak"]
    timed.sort(key=lambda each: (each.benchmark, each.division, each.score or 0.0))
    lines = [
        Bar(
            f"{each.benchmark}, {each.division or 'no division'}: minutes",
            f"{each.submitter} {each.system}",
            each.score or 0.0,
            f"{each.score:.4g}",
        )
        for each in timed
    ]
    return bars(lines, width)
