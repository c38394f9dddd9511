"""Scores as one HTML page that needs nothing else: no script, no style from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from podium.compliance.reporting.pages.templates import page_policy
from podium.compliance.text.terminal import clean
from podium.compliance.tools.scoring.render.markdown import WORDS, sections
from podium.compliance.tools.scoring.render.text import factors_used, summary

if TYPE_CHECKING:
    from podium.compliance.tools.scoring.report import Scores

_STYLE = """
body { font: 14px/1.4 sans-serif; margin: 2em; }
table { border-collapse: collapse; margin-bottom: 2em; }
th, td { border-bottom: 1px solid #bbb; padding: 0.2em 0.8em; text-align: left; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.error td:first-child { color: #b00; font-weight: bold; }
"""


def to_html(scores: Scores) -> str:
    """The page."""
    title = f"Scores: {scores.rules.usage} {scores.rules.round}"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{page_policy(_STYLE)}">',
        f"<title>{_text(title)}</title>",
        f"<style>{_STYLE}</style></head>",
        "<body>",
        f"<h1>{_text(title)}</h1>",
        f"<p>{_text(f'{factors_used(scores)} {summary(scores)}'.strip())}</p>",
    ]
    for name, heads, rows in sections(scores):
        lines += [f"<h2>{_text(name)}</h2>", *_table(heads, rows, WORDS)]
    if scores.findings:
        heads = ("severity", "path", "rule", "finding", "help")
        found = [(f.severity.value, f.path, f.id, f.message, f.hint) for f in scores.findings]
        lines += ["<h2>Findings</h2>", *_table(heads, found, len(heads), classed=True)]
    return "\n".join([*lines, "</body>", "</html>", ""])


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], words: int, *, classed: bool = False
) -> Iterator[str]:
    yield "<table>"
    yield f"<tr>{_cells('th', heads, words)}</tr>"
    for row in rows:
        kind = f' class="{_text(row[0])}"' if classed else ""
        yield f"<tr{kind}>{_cells('td', row, words)}</tr>"
    yield "</table>"


_NUMBER = ' class="number"'


def _cells(tag: str, cells: Sequence[str], words: int) -> str:
    return "".join(
        f"<{tag}{_NUMBER if i >= words else ''}>{_text(cell)}</{tag}>"
        for i, cell in enumerate(cells)
    )


def _text(text: str) -> str:
    # Cleaned as well: escaping for HTML leaves control characters as they are
    return escape(clean(text))
