"""Every rule has a failing and a passing case, with the severities that it declares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from podium.compliance.history import rules as history
from podium.compliance.live import rules as live
from podium.compliance.power import rules as power
from podium.compliance.rcp import rules as rcp
from podium.compliance.report.models import FindingEntry
from podium.compliance.scoring import rules as scoring
from podium.compliance.systems import rules as systems
from podium.rules.finding import Finding
from podium.rules.fixed.fixed_rule import FixedRule
from tests.compliance.rulebook.cases_history import CASES as OF_HISTORY
from tests.compliance.rulebook.cases_live import CASES as OF_LIVE
from tests.compliance.rulebook.cases_power import CASES as OF_POWER
from tests.compliance.rulebook.cases_rcp import CASES as OF_POINTS
from tests.compliance.rulebook.cases_scoring import CASES as OF_SCORES
from tests.compliance.rulebook.cases_systems import CASES as OF_SYSTEMS
from tests.compliance.rulebook.edited import apply
from tests.compliance.trees import usual

CASES = {**OF_HISTORY, **OF_LIVE, **OF_POWER, **OF_POINTS, **OF_SCORES, **OF_SYSTEMS}

RULES = [rule for folder in (history, live, power, rcp, scoring, systems) for rule in folder.RULES]


def severities(rule: FixedRule, found: Iterable[Finding | FindingEntry]) -> set[str]:
    return {str(each.severity) for each in found if each.id == rule.id}


@pytest.mark.parametrize("profile", ["policy", "verifier"])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_example_breaks_the_rule_and_the_complete_submission_does_not(
    rule: FixedRule, profile: str, tmp_path: Path
) -> None:
    declared = rule.severity if profile == "policy" else rule.in_verifier
    bad, good = tmp_path / "bad", tmp_path / "good"
    bad.mkdir()
    good.mkdir()
    if isinstance(rule.bad, tuple):
        tree = usual(bad)
        apply(tree.root, rule.bad)
        broken, obeyed = tree.check(profile).findings, usual(good).check(profile).findings
        assert severities(rule, broken) == ({declared} if declared else set())
        assert severities(rule, obeyed) == set()
        return
    case = CASES[rule.id]
    assert severities(rule, case.bad(bad, profile)) == ({declared} if declared else set())
    assert severities(rule, case.good(good, profile)) == set()


def test_a_case_stands_for_each_sentence_and_only_for_one() -> None:
    sentences = {rule.id for rule in RULES if isinstance(rule.bad, str)}
    assert sentences == set(CASES)
    assert all(rule.bad and (rule.good or isinstance(rule.bad, tuple)) for rule in RULES)
