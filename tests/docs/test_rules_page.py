"""docs/rules.md: the table of severities names existing rules with their severities."""

from __future__ import annotations

import re

import pytest

from podium.compliance.rulebook.catalogue import all_rules, rounds_with
from tests.locations import ROOT

PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
TABLE = re.search(r"\| clause \| rule \| severity \| reason \|\n(.*?)\n\n", PAGE, re.DOTALL)


def rows() -> list[tuple[str, str]]:
    """The rules of the table, with the severity in their row."""
    assert TABLE is not None
    found = []
    for line in TABLE[1].splitlines()[1:]:
        _, _, rules, severity, _, _ = line.split("|")
        found += [(rule, severity.strip()) for rule in re.findall(r"`([^`]+)`", rules)]
    return found


def weights(rule: str) -> tuple[set[str], str]:
    """The severities of a rule in the policy profile over all rounds, and when they vary."""
    found = [each for rules in rounds_with(rule) for each in all_rules(rules) if rule == each.id]
    assert found, f"there is no rule {rule}"
    return {of_policy(each.policy_severity) for each in found}, found[0].varies


def of_policy(text: str) -> str:
    """The severity, in a rule's description, for when only the policy rejects."""
    less = re.search(r"(\w+) if only the policy (?:or only the verifier )?rejects", text)
    return less[1] if less else re.split(r"\W", text)[0]


@pytest.mark.parametrize(("rule", "severity"), rows())
def test_a_row_of_the_table_has_the_severity_of_its_rule(rule: str, severity: str) -> None:
    known, varies = weights(rule)
    usual, _, others = severity.partition(";")
    assert usual in known
    for other in re.findall(r"error|warning|note", others):
        assert other in known or other in varies
