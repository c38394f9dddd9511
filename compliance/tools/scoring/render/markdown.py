"""Scores as Markdown tables, for a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from podium.compliance.reporting.render.markdown import escape
from podium.compliance.tools.scoring.render.text import (
    factors_used,
    strong_numbers,
    summary,
    weak_numbers,
)

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import ScoreEntry, Scores

STRONG = (
    "submitter",
    "system",
    "benchmark",
    "division",
    "runs",
    "minutes",
    "factor",
    "computed",
    "score",
    "spread",
    "energy",
)
WEAK = (
    "submitter",
    "system",
    "benchmark",
    "division",
    "models",
    "scale S",
    "scale T",
    "minutes, all",
    "models/minute",
)
WORDS = 4
"""Number of text columns, which come before the numeric columns."""


def to_markdown(scores: Scores) -> str:
    """The tables of results, then the findings."""
    paragraphs = [paragraph for paragraph in (factors_used(scores), summary(scores)) if paragraph]
    lines = ["# Scores", "", *[escape(paragraph) for paragraph in paragraphs], ""]
    for title, heads, rows in sections(scores):
        lines += [f"## {title}", "", *_table(heads, rows), ""]
    if scores.findings:
        finding_rows = [
            (f.severity.value, f.path, f.id, f.message, f.hint) for f in scores.findings
        ]
        heads = ("severity", "path", "rule", "finding", "help")
        lines += ["## Findings", "", *_table(heads, finding_rows, words=5), ""]
    return "\n".join(lines)


def sections(
    scores: Scores,
) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """(title, heads, rows) of each table of results that is not empty."""
    strong = [(*_words(e), *strong_numbers(e)) for e in scores.results if e.scaling == "strong"]
    weak = [(*_words(e), *weak_numbers(e)) for e in scores.results if e.scaling == "weak"]
    if strong:
        yield "Time to train", STRONG, strong
    if weak:
        yield "Throughput", WEAK, weak


def _words(entry: ScoreEntry) -> tuple[str, ...]:
    # Loose logs name no system: the path identifies the row
    return (entry.submitter, entry.system or entry.path, entry.benchmark, entry.division)


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], words: int = WORDS
) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(' --- ' if i < words else ' ---: ' for i in range(len(heads)))}|"
    for row in rows:
        yield f"| {' | '.join(escape(cell) for cell in row)} |"
