"""The rules of every round that are declared as values, not in a table or a check."""

from __future__ import annotations

from podium.compliance.judging.declared_rules import JUDGING_RULES
from podium.compliance.tools.history import history_rules
from podium.compliance.tools.live import live_rules
from podium.compliance.tools.rcp import rcp_rules
from podium.compliance.tools.review import review_rules
from podium.compliance.tools.scoring import score_rules
from podium.rules.fixed.fixed_rule import FixedRule, declared_in

# A rule that is missing here would be reported but never explained; a test finds such rules
FIXED_RULES: tuple[FixedRule, ...] = (
    *JUDGING_RULES,
    *declared_in(score_rules, rcp_rules, history_rules, live_rules, review_rules),
)
"""Every rule that is declared as a value, in the order of the pages."""
