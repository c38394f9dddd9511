"""docs/rules.md: the table of severities names rules that exist, with the severity that they have."""

from __future__ import annotations

import re

import pytest

from podium.compliance.rulebook.catalogue import all_rules, rounds_with
from tests.locations import ROOT

PAGE = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
TABLE = re.search(r"\| clause \| rule \| severity \| reason \|\n(.*?)\n\n", PAGE, re.DOTALL)


def rows() -> list[tuple[str, str]]:
    """Each rule of the table with the severity that its row begins with."""
    assert TABLE is not None
    found = []
    for line in TABLE[1].splitlines()[1:]:
        _, _, rules, severity, _, _ = line.split("|")
        found += [(rule, severity.strip()) for rule in re.findall(r"`([^`]+)`", rules)]
    return found


@pytest.mark.parametrize(("rule", "severity"), rows())
def test_the_table_gives_the_severity_that_the_rule_has(rule: str, severity: str) -> None:
    weights = {
        each.policy_severity
        for rules in rounds_with(rule)
        for each in all_rules(rules)
        if rule in each.ids
    }
    assert weights, f"there is no rule {rule}"
    first = severity.split(";")[0]
    assert first in weights, f"{rule} weighs {weights}"


@pytest.mark.parametrize(("rule", "severity"), [each for each in rows() if "; " in each[1]])
def test_a_severity_that_differs_is_what_the_rules_say(rule: str, severity: str) -> None:
    found = [
        (each, rules.name)
        for rules in rounds_with(rule)
        for each in all_rules(rules)
        if rule in each.ids
    ]
    weights = {each.policy_severity for each, _ in found}
    others = set(re.findall(r"error|warning|note", severity.partition(";")[2]))
    assert all(other in weights or other in found[0][0].varies for other in others)
