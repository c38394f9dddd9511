"""Pieces of Markdown that several pages share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium.compliance.rulebook.rates import rates
from podium.compliance.rulebook.tables.rule import Rule

MADE = "<!-- made by `podium rules pages --write`; edit the rules, not this page -->"

# Fewer marks than for scores: these texts are podium's own, not those of a log
_NEEDS_ESCAPE = str.maketrans({mark: f"\\{mark}" for mark in "\\`*|<>[]"})


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return text.translate(_NEEDS_ESCAPE)


def rate_cell(rule: Rule) -> str:
    """How often a rule fires on what was published; empty where that is not known."""
    rate = rates().of(rule.id)
    return "" if rate is None else rate.text


def check_table(found: Iterable[Rule]) -> Iterator[str]:
    """Checks as a Markdown table."""
    yield "| Rule | Says | Applies to | Severity | Fires on | Cites |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for rule in found:
        cells = (
            f"`{rule.id}`",
            escape(rule.constraint),
            rule.meaning,
            rule.policy_severity,
            rate_cell(rule),
            escape(rule.cites),
        )
        yield f"| {' | '.join(cells)} |"
