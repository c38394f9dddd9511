"""Every rule that judging declares as a value: of logs, trees, systems, results and submissions."""

from __future__ import annotations

from podium.compliance.judging import round_rules
from podium.compliance.judging.inputs import tree_rules
from podium.compliance.judging.logs import log_rules
from podium.compliance.judging.power import power_rules
from podium.compliance.judging.repository import repository_rules
from podium.compliance.judging.results.rules import (
    batch_rules,
    consistency_rules,
    run_rules,
    seed_rules,
    throughput_rules,
)
from podium.compliance.judging.results.rules import plausibility_rules as result_plausibility
from podium.compliance.judging.submission import code_rules, layout_rules
from podium.compliance.judging.systems import plausibility_rules as system_plausibility
from podium.compliance.judging.systems import system_rules
from podium.compliance.judging.waivers import waiver_rules
from podium.rules.fixed.fixed_rule import FixedRule

JUDGING_RULES: tuple[FixedRule, ...] = (
    *log_rules.RULES,
    *round_rules.RULES,
    *tree_rules.RULES,
    *layout_rules.RULES,
    *system_rules.RULES,
    *system_plausibility.RULES,
    *run_rules.RULES,
    *consistency_rules.RULES,
    *result_plausibility.RULES,
    *batch_rules.RULES,
    *throughput_rules.RULES,
    *seed_rules.RULES,
    *power_rules.RULES,
    *code_rules.RULES,
    *waiver_rules.RULES,
    *repository_rules.RULES,
)
"""In the order that pages list them."""
