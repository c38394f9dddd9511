"""A comparison of two sets of scores, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.tools.scoring.compare import ScoreChange, headline
from podium.compliance.tools.scoring.render import numbers
from podium.compliance.tools.scoring.render.table import Heading, Row, table
from podium.compliance.tools.scoring.render.text import heading_of

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import ScoreEntry

SCHEMA = "podium.comparison/1"


def comparison_text(changes: list[ScoreChange], width: int) -> str:
    """A table of the comparable results, then the others with the reasons."""
    compared = [change for change in changes if not change.why]
    lines: list[str] = []
    if compared:
        heads = ("benchmark", "round", "other round", "other score", "score", "change")
        lines += table(heads, _rows(compared), width)
    else:
        lines.append("Nothing can be compared.")
    incomparable = [change for change in changes if change.why]
    if incomparable:
        lines += ["", "Not compared:"]
        for change in incomparable:
            entry = _entry(change)
            text = f"{heading_of(entry, several=False)}, {clean(entry.benchmark)}: {change.why}"
            lines += wrap(clean(text), width, "  ", "    ")
    return "\n".join(lines) + "\n"


def _entry(change: ScoreChange) -> ScoreEntry:
    entry = change.now or change.then
    assert entry is not None
    return entry


def _rows(changes: list[ScoreChange]) -> Iterator[Row]:
    # Results are sorted by path, so results of one system are adjacent
    for heading, group in groupby(
        changes, key=lambda pair: heading_of(_entry(pair), several=False)
    ):
        yield Heading(heading)
        for pair in group:
            assert pair.now is not None
            assert pair.then is not None
            unit = " (models/min)" if pair.now.scaling == "weak" else ""
            change = pair.relative
            yield (
                f"  {clean(pair.now.benchmark)}{unit}",
                pair.now.round.split(" ", 1)[1],
                pair.then.round.split(" ", 1)[1],
                numbers.minutes(headline(pair.then)),
                numbers.minutes(headline(pair.now)),
                numbers.NONE if change is None else f"{change:+.2%}",
            )


def comparison_json(changes: list[ScoreChange]) -> str:
    """The comparison as data."""
    document = {"schema": SCHEMA, "changes": [_member(change) for change in changes]}
    return json_text(document)


def _member(change: ScoreChange) -> dict[str, Any]:
    entry = _entry(change)
    names = ("submitter", "system", "benchmark", "division", "scaling")
    return {
        **{name: getattr(entry, name) for name in names},
        "round": change.now.round if change.now else None,
        "other_round": change.then.round if change.then else None,
        "score": headline(change.now) if change.now else None,
        "other_score": headline(change.then) if change.then else None,
        "change": change.relative,
        "why_not": change.why or None,
    }
