"""A comparison with an installed official checker, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, wrap
from podium.compliance.text.words import plural
from podium.compliance.tools.drift.disagreement import Comparison, Disagreement

SCHEMA = "podium.rules-drift/1"

INDENT = 2


def drift_text(made: Comparison, width: int) -> str:
    """The rows to change, by round and benchmark, then a summary."""
    lines: list[str] = []
    title = ""
    for row in made.rows:
        where = _title(row)
        if where != title:
            lines += [*([""] if lines else []), clean(where)]
            title = where
        lines += _row(row, width)
    if lines:
        lines.append("")
    return "\n".join([*lines, *_summary(made, width)]) + "\n"


def _title(row: Disagreement) -> str:
    where = ", ".join(filter(None, (row.division, row.benchmark))) or "every log"
    return f"{row.usage} {row.round}, {where}" if row.key else f"{row.usage} {row.round}"


def _row(row: Disagreement, width: int) -> Iterator[str]:
    if row.key:
        yield f"  {clean(row.key)}"
    for name, text in (("ours", row.ours), ("theirs", row.theirs)):
        yield from _labelled(name, text or "nothing", width)
    for example in row.examples:
        shown = f"{example.logged}: ours {example.ours}, theirs {example.theirs}"
        yield from _labelled("log", shown, width)


def _labelled(name: str, text: str, width: int) -> Iterator[str]:
    label = f"    {name:<8}"
    for line in wrap(clean(text), width - len(label)):
        yield f"{label}{line}"
        label = " " * len(label)


def _summary(made: Comparison, width: int) -> list[str]:
    count = f"{plural(len(made.rows), 'row')} to change" if made.rows else "No disagreement"
    text = (
        f"{count}: mlperf-logging {made.about.version}, {plural(len(made.rounds), 'round')}, "
        f"{plural(made.logs, 'log')} asked of both."
    )
    lines = wrap(clean(text), width)
    if made.lacking:
        lines += wrap(f"Not in that release: {', '.join(made.lacking)}.", width)
    return lines


def drift_json(made: Comparison) -> str:
    """The comparison as data; the schema is `podium.rules-drift/1`."""
    return json_text(
        {
            "schema": SCHEMA,
            "installed": {"version": made.about.version, "python": made.python},
            "rounds": list(made.rounds),
            "lacking": list(made.lacking),
            "logs": made.logs,
            "rows": msgspec.to_builtins(made.rows),
        }
    )
