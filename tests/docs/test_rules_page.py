"""docs/rules.md: the table of severities names rules that exist, as they weigh."""

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


def weights(rule: str) -> tuple[set[str], str]:
    """What findings of the policy alone weigh, over all rounds; and when that varies."""
    found = [each for rules in rounds_with(rule) for each in all_rules(rules) if rule == each.id]
    assert found, f"there is no rule {rule}"
    return {of_policy(each.policy_severity) for each in found}, found[0].varies


def of_policy(text: str) -> str:
    """The severity where only the policy rejects, of the sentence about a rule."""
    less = re.search(r"(\w+) if only the policy (?:or only the verifier )?rejects", text)
    return less[1] if less else re.split(r"\W", text)[0]


@pytest.mark.parametrize(("rule", "severity"), rows())
def test_the_table_gives_the_severities_that_the_rule_has(rule: str, severity: str) -> None:
    known, varies = weights(rule)
    usual, _, others = severity.partition(";")
    assert usual in known
    for other in re.findall(r"error|warning|note", others):
        assert other in known or other in varies
