"""The clauses of the documents and what holds them, in each format, and as a page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from podium.compliance.rulebook.coverage import Held, State, coverage, totals
from podium.compliance.rulebook.markdown import MADE, escape
from podium.compliance.rulebook.printer import Grid, Printer
from podium.rules.clauses import Document, documents

_INTRODUCTION = (
    "Every clause of the documents that bind a submission, in our own words, and the rules that "
    "hold it. A clause is *checked*; or checked *in part*, where some of it cannot be told from "
    "what is submitted; or *not mechanical*, with the reason; or *not yet* checked, though it "
    "could be. Where a command is named, its result is what the clause defines."
)


def coverage_data() -> dict[str, Any]:
    """The clauses and their totals as JSON data."""
    found = coverage()
    return {
        "documents": [
            {"name": each.name, "title": each.title, "numbered_in": each.numbered_in}
            for each in documents().values()
        ],
        "totals": totals(found),
        "clauses": [each.to_dict() for each in found],
    }


def coverage_page() -> str:
    """The page `coverage.md`."""
    found = coverage()
    lines = ["# Clauses and the rules that hold them", "", MADE, "", _INTRODUCTION, ""]
    lines += _totals(found)
    for document, clauses in groupby(found, key=lambda each: each.document.name):
        lines += _document(documents()[document], list(clauses))
    return "\n".join(lines) + "\n"


def _totals(found: list[Held]) -> Iterator[str]:
    yield f"| Document | {' | '.join(state.value.capitalize() for state in State)} |"
    yield f"| --- | {' | '.join('---:' for _ in State)} |"
    for name, counts in totals(found).items():
        yield f"| {name} | {' | '.join(str(count) for count in counts.values())} |"


def _document(document: Document, clauses: list[Held]) -> Iterator[str]:
    yield from ("", f"## {document.name.capitalize()}", "", f"{escape(document.title)}.", "")
    if document.numbered_in:
        yield from (f"Numbers of sections are those of {escape(document.numbered_in)}.", "")
    yield "| Clause | Section | Says | Rounds | State | Held by |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for each in clauses:
        section = f"{each.number} {each.clause.section}".strip()
        cells = (
            each.id,
            escape(section),
            escape(each.clause.says),
            each.clause.rounds or "all",
            each.state.value,
            _held_by(each),
        )
        yield f"| {' | '.join(cells)} |"


def _held_by(held: Held) -> str:
    clause = held.clause
    rules = ", ".join(f"`{rule}`" for rule in held.named)
    texts = (
        rules,
        f"`{clause.computed}`" if clause.computed else "",
        f"by hand: {escape(clause.by_hand)}" if clause.by_hand else "",
        f"not yet: {escape(clause.missing)}" if clause.missing else "",
    )
    return "<br>".join(text for text in texts if text)


def print_coverage(to: Printer) -> None:
    """The clauses on a terminal, document by document, with totals."""
    found = coverage()
    for document, clauses in groupby(found, key=lambda each: each.document.name):
        to.head(document)
        for each in clauses:
            clause = each.clause
            to.say(f"{each.id}  [{each.state.value}]  {clause.section}", "  ", "    ")
            to.say(clause.says, "      ")
            to.say(each.by, "      ", "        ")
    to.head("totals")
    states = [state.value for state in State]
    cells = tuple(
        (name, *(str(count) for count in counts.values())) for name, counts in totals(found).items()
    )
    to.grid(Grid(("Document", *states), cells, tuple(range(1, 1 + len(states)))))
