"""What rules say, for reports that carry the text of each rule beside its findings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.render.sarif import RuleText
from podium.compliance.rulebook.catalogue import all_rules
from podium.compliance.rulebook.fixed_rules import FIXED_RULES
from podium.compliance.rulebook.plugged.rules import added_rules
from podium.compliance.rulebook.tables.history import Kind
from podium.compliance.rulebook.tables.rule import Rule
from podium.rules.catalogue import USAGES, find_round, rounds_of
from podium.rules.model.round import Round


def texts_of(report: Outcome) -> dict[str, RuleText]:
    """The text of each rule that a report has findings of, by its id."""
    wanted = {finding.id for finding in report.findings}
    found: dict[str, RuleText] = {}
    for rules in _rounds(report):
        if found.keys() >= wanted:
            break
        for rule in all_rules(rules):
            if rule.id in wanted:
                # Newest rounds come first: theirs is the wording for a rule of several
                found.setdefault(rule.id, _text(rule))
    if found.keys() < wanted:
        found |= {rule.id: _text(rule) for rule in added_rules() if rule.id in wanted}
    return found


def has_one_message(rule: str) -> bool:
    """Whether one template makes the messages of a rule; not where a field is all of it."""
    return rule in _templates()


@cache
def _templates() -> frozenset[str]:
    return frozenset(rule.id for rule in FIXED_RULES if rule.general_message)


def _rounds(report: Outcome) -> Iterator[Round]:
    """The round of a report; all of them, newest first, where it is about several."""
    if report.rules.round != "several":
        yield find_round(report.rules.usage, report.rules.round)
        return
    for usage in USAGES:
        yield from reversed([*rounds_of(usage).values()])


def _text(rule: Rule) -> RuleText:
    says = rule.constraint
    if rule.kind in (Kind.ROW, Kind.TARGET):
        says = f"{rule.key}: {rule.bound}"
    return RuleText(says, rule.why, rule.hint)
