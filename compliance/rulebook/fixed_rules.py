"""The rules of every round that no table and no check states, from the modules that report them."""

from __future__ import annotations

from podium.compliance.judging import wrong_round
from podium.compliance.judging.inputs import tree_rules
from podium.compliance.judging.logs import log_rules
from podium.compliance.judging.power import rules as power_rules
from podium.compliance.judging.repository import repository_rules
from podium.compliance.judging.results import batch, throughput
from podium.compliance.judging.results.rules import consistency_rules, run_rules, seed_rules
from podium.compliance.judging.results.rules import plausibility_rules as result_plausibility
from podium.compliance.judging.submission import code_rules, layout_rules
from podium.compliance.judging.systems import plausibility_rules
from podium.compliance.judging.systems import rules as system_rules
from podium.compliance.judging.waivers import waiver_rules
from podium.compliance.tools.history import rules as history_rules
from podium.compliance.tools.live import rules as live_rules
from podium.compliance.tools.rcp import rules as rcp_rules
from podium.compliance.tools.review import rules as review_rules
from podium.compliance.tools.scoring import rules as score_rules
from podium.rules.fixed.fixed_rule import FixedRule

# A rule missing here would be reported, yet never explained: a test looks for those
FIXED_RULES: tuple[FixedRule, ...] = (
    *log_rules.RULES,
    *wrong_round.RULES,
    *tree_rules.RULES,
    *layout_rules.RULES,
    *system_rules.RULES,
    *plausibility_rules.RULES,
    *run_rules.RULES,
    *consistency_rules.RULES,
    *result_plausibility.RULES,
    *batch.RULES,
    *throughput.RULES,
    *seed_rules.RULES,
    *power_rules.RULES,
    *code_rules.RULES,
    *score_rules.RULES,
    *rcp_rules.RULES,
    *history_rules.RULES,
    *waiver_rules.RULES,
    *repository_rules.RULES,
    *live_rules.RULES,
    *review_rules.RULES,
)
"""Every RULES tuple, in the order pages list them."""
