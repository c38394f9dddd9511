"""The rules of every round that no table and no check states, from the modules that report them."""

from __future__ import annotations

from podium.compliance.judging.declared_rules import JUDGING_RULES
from podium.compliance.tools.history import history_rules
from podium.compliance.tools.live import live_rules
from podium.compliance.tools.rcp import rcp_rules
from podium.compliance.tools.review import review_rules
from podium.compliance.tools.scoring import score_rules
from podium.rules.fixed.fixed_rule import FixedRule

# A rule missing here would be reported, yet never explained: a test looks for those
FIXED_RULES: tuple[FixedRule, ...] = (
    *JUDGING_RULES,
    *score_rules.RULES,
    *rcp_rules.RULES,
    *history_rules.RULES,
    *live_rules.RULES,
    *review_rules.RULES,
)
"""Every RULES tuple, in the order pages list them."""
