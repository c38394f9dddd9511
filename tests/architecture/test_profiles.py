"""Code that depends on the profile is rare, and each such file is listed with a reason."""

from __future__ import annotations

import ast
from collections import Counter

from tests.architecture.source import Module, of

MOST = 40

REASONS = {
    "compliance/cli/judging/check.py": "--policy-only makes no sense in the verifier profile",
    "compliance/judging/conclusion.py": "advice on folders and rounds is the policy's",
    "compliance/judging/files.py": "house rules are the policy's; so are both verdicts",
    "compliance/judging/logs/facts.py": "the verifier profile needs few facts of a log",
    "compliance/judging/logs/judge.py": "a log is read by the official rows, then by the policy's",
    "compliance/judging/plugged.py": "the official program has no plug-ins",
    "compliance/judging/repository/check.py": "the repository checker has other rules",
    "compliance/judging/results/convergence.py": "the two texts have a method each",
    "compliance/judging/results/official.py": "the one place that asks for the second verdict",
    "compliance/judging/results/result.py": "one result has both tests of convergence",
    "compliance/judging/submissions.py": "in that profile the official verdict is its own",
    "compliance/judging/systems/check.py": "the schema and plausibility are the policy's alone",
    "compliance/tools/history/prior_submission.py": "the official program compares no trees",
    "compliance/tools/live/guard.py": "checks that no table has are the policy's",
    "compliance/tools/live/partial/certain.py": "checks that no table has are the policy's",
    "compliance/tools/rcp/check.py": "the policy profile shows both judgements",
    "compliance/tools/scoring/findings.py": "there a refused run is the slowest already",
    "compliance/tools/scoring/render/explain.py": "the official summary rounds no score",
    "compliance/tools/scoring/row.py": "the official summary scores whatever there is",
    "rules/convergence/facts.py": "the two texts read the end of a run differently",
    "rules/fixed/fixed_rule.py": "the weight of a rule in each profile",
    "rules/hindsight.py": "old rounds are judged again by today's verifier",
}
"""The files that compare the profile, with the reason."""


def _asks(module: Module) -> int:
    """Count the comparisons with a profile in a file."""
    return sum(
        any(ast.unparse(each).startswith("Profile.") for each in node.comparators)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Compare)
    )


def test_every_comparison_with_a_profile_has_a_reason() -> None:
    asking = Counter({module.name: _asks(module) for module in of("compliance", "rules")})
    assert {name for name, count in asking.items() if count} == REASONS.keys()
    assert asking.total() < MOST
