"""The rules that implement each clause of the documents: data, JSON, page, terminal."""

from __future__ import annotations

import fnmatch
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import groupby
from typing import Any

from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.markdown import MADE, escape, table_lines
from podium.compliance.rulebook.printer import Grid, Printer
from podium.rules.catalogue import USAGES, rounds_of
from podium.rules.clauses import Clause, Document, cited, documents


class State(StrEnum):
    """How far a clause is implemented."""

    CHECKED = "checked"
    IN_PART = "in part"
    BY_HAND = "not mechanical"
    MISSING = "not yet"


@dataclass(frozen=True, slots=True)
class CoveredClause:
    """One clause and its rules: `rules` are ids, `named` the globs in the clause."""

    id: str
    document: Document
    clause: Clause
    rules: tuple[str, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """The rules in short: as the clause names them, else the ids."""
        return self.clause.rules or self.rules

    @property
    def state(self) -> State:
        """How far the clause is implemented."""
        if self.clause.missing:
            return State.MISSING
        if not (self.rules or self.clause.computed):
            return State.BY_HAND
        return State.IN_PART if self.clause.by_hand else State.CHECKED

    @property
    def number(self) -> str:
        """The number of the section, if it has one."""
        return self.document.numbers.get(self.clause.section, "")

    @property
    def by(self) -> str:
        """The rules of the clause and its open parts, in one or two sentences."""
        clause = self.clause
        rule_list = ", ".join((*self.named, *([f"`{clause.computed}`"] if clause.computed else [])))
        return "; ".join(
            text
            for text in (
                rule_list,
                clause.by_hand and f"by hand: {clause.by_hand}",
                clause.missing and f"not yet: {clause.missing}",
            )
            if text
        )

    def to_dict(self) -> dict[str, Any]:
        """The clause as JSON data."""
        clause = self.clause
        return {
            "id": self.id,
            "document": self.document.name,
            "section": clause.section,
            "number": self.number,
            "says": clause.says,
            "rounds": clause.rounds,
            "state": self.state.value,
            "rules": list(self.rules),
            "computed": clause.computed,
            "by_hand": clause.by_hand,
            "missing": clause.missing,
        }


@cache
def rules_by_section() -> Mapping[tuple[str, str], tuple[str, ...]]:
    """The ids of the rules of all rounds, by the (document, section) that they cite.

    Raises UnknownSection if a rule cites a section that no document has.
    """
    ids_by_section: dict[tuple[str, str], set[str]] = defaultdict(set)
    for usage in USAGES:
        for rules in rounds_of(usage).values():
            for rule in all_rules(rules):
                for section in cited(rule.cites):
                    ids_by_section[section].add(rule.id)
    return {section: tuple(sorted(ids)) for section, ids in ids_by_section.items()}


def coverage() -> list[CoveredClause]:
    """Every clause of every document, in the order of the data."""
    return list(_held())


def _held() -> Iterator[CoveredClause]:
    by_section = rules_by_section()
    rule_ids = sorted({rule for ids in by_section.values() for rule in ids})
    for document in documents().values():
        for name, clause in document.clauses.items():
            if clause.rules:
                rules = matching(clause.rules, rule_ids)
            elif clause.computed or clause.by_hand or clause.missing:
                rules = ()
            else:
                rules = by_section.get((document.name, clause.section), ())
            yield CoveredClause(name, document, clause, rules)


def matching(globs: tuple[str, ...], rule_ids: list[str]) -> tuple[str, ...]:
    """The ids that match globs, sorted."""
    matches = {rule for glob in globs for rule in fnmatch.filter(rule_ids, glob)}
    return tuple(sorted(matches))


def totals(clauses: list[CoveredClause]) -> dict[str, dict[str, int]]:
    """The number of clauses in each state, for each document; all states, in order."""
    counts = {
        name: Counter(clause.state for clause in clauses if clause.document.name == name)
        for name in documents()
    }
    return {name: {state.value: count[state] for state in State} for name, count in counts.items()}


_INTRODUCTION = (
    "Every clause of the documents that bind a submission, paraphrased, and the rules that "
    "implement it. The state of a clause is one of: *checked*; *in part*, if a submission does "
    "not show all of it; *not mechanical*, with the reason; *not yet*, if it could be checked "
    "but is not. A named command computes the value that the clause defines."
)


def coverage_data() -> dict[str, Any]:
    """The clauses and their totals as JSON data."""
    clauses = coverage()
    return {
        "documents": [
            {"name": document.name, "title": document.title, "numbered_in": document.numbered_in}
            for document in documents().values()
        ],
        "totals": totals(clauses),
        "clauses": [clause.to_dict() for clause in clauses],
    }


def coverage_page() -> str:
    """The page `coverage.md`."""
    covered_clauses = coverage()
    lines = ["# Clauses and the rules that implement them", "", MADE, "", _INTRODUCTION, ""]
    lines += _totals(covered_clauses)
    for document, clauses in groupby(covered_clauses, key=lambda clause: clause.document.name):
        lines += _document(documents()[document], list(clauses))
    return "\n".join(lines) + "\n"


def _totals(clauses: list[CoveredClause]) -> Iterator[str]:
    heads = ("Document", *(state.value.capitalize() for state in State))
    return table_lines(heads, _total_rows(clauses), range(1, len(heads)))


def _total_rows(clauses: list[CoveredClause]) -> tuple[tuple[str, ...], ...]:
    """The number of clauses in each state, by document."""
    return tuple((name, *map(str, counts.values())) for name, counts in totals(clauses).items())


def _document(document: Document, clauses: list[CoveredClause]) -> Iterator[str]:
    yield from ("", f"## {document.name.capitalize()}", "", f"{escape(document.title)}.", "")
    if document.numbered_in:
        yield from (f"Section numbers refer to {escape(document.numbered_in)}.", "")
    heads = ("Clause", "Section", "Says", "Rounds", "State", "Implemented by")
    yield from table_lines(heads, map(_cells, clauses))


def _cells(covered: CoveredClause) -> tuple[str, ...]:
    clause = covered.clause
    section = escape(f"{covered.number} {clause.section}".strip())
    state = (clause.rounds or "all", covered.state.value, _held_by(covered))
    return (covered.id, section, escape(clause.says), *state)


def _held_by(covered: CoveredClause) -> str:
    clause = covered.clause
    rules = ", ".join(f"`{rule}`" for rule in covered.named)
    texts = (
        rules,
        f"`{clause.computed}`" if clause.computed else "",
        f"by hand: {escape(clause.by_hand)}" if clause.by_hand else "",
        f"not yet: {escape(clause.missing)}" if clause.missing else "",
    )
    return "<br>".join(text for text in texts if text)


def print_coverage(printer: Printer) -> None:
    """The clauses on a terminal, document by document, with totals."""
    covered_clauses = coverage()
    for document, clauses in groupby(covered_clauses, key=lambda clause: clause.document.name):
        printer.head(document)
        for covered in clauses:
            clause = covered.clause
            printer.say(f"{covered.id}  [{covered.state.value}]  {clause.section}", "  ", "    ")
            printer.say(clause.says, "      ")
            printer.say(covered.by, "      ", "        ")
    printer.head("totals")
    heads = ("Document", *(state.value for state in State))
    printer.grid(Grid(heads, _total_rows(covered_clauses), tuple(range(1, len(heads)))))
