"""The rules of every round that no table and no check states, from the modules that report them."""

from __future__ import annotations

from podium.compliance.inputs import tree_rules
from podium.compliance.logs import log_rules
from podium.compliance.repository import repository_rules
from podium.compliance.results import consistency_rules, seed_rules, throughput
from podium.compliance.rulebook.undeclared import UNDECLARED
from podium.compliance.submission import code_rules, layout_rules
from podium.compliance.waivers import waiver_rules
from podium.rules.fixed_rule import FixedRule

DECLARED: tuple[FixedRule, ...] = (
    *log_rules.RULES,
    *tree_rules.RULES,
    *layout_rules.RULES,
    *consistency_rules.RULES,
    *throughput.RULES,
    *seed_rules.RULES,
    *code_rules.RULES,
    *waiver_rules.RULES,
    *repository_rules.RULES,
)
"""Every RULES tuple of the package, in the order pages list them."""

FIXED_RULES: tuple[FixedRule, ...] = (*DECLARED, *UNDECLARED)
"""What the catalogue has beside tables and checks."""
