"""A rule of the house as people read it, with an example made from its bound."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from podium.compliance.judging.inputs.house_rules import HouseRule, as_check
from podium.compliance.rulebook.plugged.reading import rule_of
from podium.compliance.rulebook.tables.examples import example
from podium.compliance.rulebook.tables.rule import Rule
from podium.compliance.rulebook.tables.whole_log import line_of
from podium.logging_spec.reader.record import Record


def as_rule(rule: HouseRule) -> Rule:
    """The rule with what breaks it and what obeys it, where a value of its bound shows that."""
    made = example(rule.row, {})
    check = as_check(rule)
    if made is not None:
        check = replace(check, bad=_lines(made.bad), good=_lines(made.good))
    return rule_of(check)


def _lines(records: Iterable[Record]) -> str:
    return "\n".join(line_of(each, "mllog", "").decode() for each in records)
