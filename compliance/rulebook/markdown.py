"""Markdown elements that several pages share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from podium.compliance.rulebook.rates import rates
from podium.compliance.rulebook.tables.rule import Rule

MADE = "<!-- made by `podium rules pages --write`; edit the rules, not this page -->"

# Fewer characters than for scores: these texts are from podium, not from a log
_NEEDS_ESCAPE = str.maketrans({char: f"\\{char}" for char in "\\`*|<>[]"})


def escape(text: str) -> str:
    """Text escaped so that Markdown shows it literally."""
    return text.translate(_NEEDS_ESCAPE)


def rate_cell(rule: Rule) -> str:
    """The rate of a rule on published results; empty if unknown."""
    rate = rates().of(rule.id)
    return "" if rate is None else rate.text


def table_lines(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()
) -> Iterator[str]:
    """The lines of a table with unescaped cells; `right` are the columns of numbers."""
    sides = ("---:" if index in right else "---" for index in range(len(heads)))
    yield from (f"| {' | '.join(cells)} |" for cells in (heads, sides, *rows))


def example_block(label: str, lines: Sequence[str]) -> Iterator[str]:
    """The lines of an example below its label; nothing for an empty example."""
    if lines:
        yield from ("", f"{label}:", "", "```text", *lines, "```")


def check_table(rules: Iterable[Rule]) -> Iterator[str]:
    """Checks as a Markdown table."""
    heads = ("Rule", "Says", "Applies to", "Severity", "Fires on", "Cites")
    return table_lines(heads, map(_check_cells, rules))


def _check_cells(rule: Rule) -> tuple[str, ...]:
    says = (f"`{rule.id}`", escape(rule.constraint), rule.meaning, rule.policy_severity)
    return (*says, rate_cell(rule), escape(rule.cites))
