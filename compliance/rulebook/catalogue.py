"""Every rule of a round as data, for `podium rules`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from podium.compliance.rulebook.fixed_rules import FIXED_RULES
from podium.compliance.rulebook.tables.history import RuleKind
from podium.compliance.rulebook.tables.rule import Rule, check_rules, rules_of
from podium.compliance.rulebook.tables.tables import tables
from podium.rules.catalogue import USAGES, find_round, rounds_of
from podium.rules.finding import Profile, Severity, StatedBy
from podium.rules.fixed.fixed_rule import FixedRule
from podium.rules.hindsight import verifier_only
from podium.rules.model.round import Round

_KINDS = {"log": RuleKind.LOG, "internal": RuleKind.INTERNAL}


def _fixed_rule(rule: FixedRule) -> Rule:
    family = rule.id.partition(".")[0]
    severities = rule.reported
    return Rule(
        id=rule.id,
        kind=_KINDS.get(family, RuleKind.PACKAGE),
        table=family,
        meaning="every round and division",
        constraint=rule.says,
        source=rule,
        stated_by=rule.stated_by,
        why=rule.why,
        hint=rule.general_help,
        cites=rule.cites,
        policy_severity=severities[Profile.POLICY],
        verifier_severity=severities[Profile.VERIFIER],
        varies=rule.varies,
        message=rule.general_message,
    )


FIXED: tuple[Rule, ...] = tuple(map(_fixed_rule, FIXED_RULES))
"""Rules of every round, in the order of the pages."""


# Selectors and searches for an id iterate over every round, often several times
@cache
def _all_rules(usage: str, name: str) -> tuple[Rule, ...]:
    rules = find_round(usage, name)
    rows = [rule for table in tables(rules).values() for rule in rules_of(rules, table)]
    return (*rows, *check_rules(rules), *(_weighed(rule, rules) for rule in FIXED))


def _weighed(rule: Rule, rules: Round) -> Rule:
    """A rule of every round with its severities in one round."""
    warns = rule.stated_by is StatedBy.VERIFIER and rule.policy_severity == Severity.WARNING
    return replace(rule, policy_severity=verifier_only(rules).value) if warns else rule


def all_rules(rules: Round) -> tuple[Rule, ...]:
    """Every rule whose id a finding of this round can carry."""
    return _all_rules(rules.usage, rules.name)


def rounds_with(rule: str, usages: tuple[str, ...] = USAGES) -> list[Round]:
    """The rounds that have a rule of this id, oldest first."""
    return [
        rules
        for usage in usages
        for rules in rounds_of(usage).values()
        if any(rule == candidate.id for candidate in all_rules(rules))
    ]
