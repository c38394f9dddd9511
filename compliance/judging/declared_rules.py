"""All rules that are declared as values: on logs, trees, systems, results and submissions."""

from __future__ import annotations

from podium.compliance.judging import round_rules
from podium.compliance.judging.inputs import tree_rules
from podium.compliance.judging.logs import log_rules
from podium.compliance.judging.power import power_rules
from podium.compliance.judging.repository import repository_rules
from podium.compliance.judging.results.rules import (
    consistency_rules,
    plausibility_rules,
    run_rules,
    seed_rules,
    throughput_rules,
)
from podium.compliance.judging.submission import code_rules, layout_rules
from podium.compliance.judging.systems import system_rules
from podium.compliance.judging.waivers import waiver_rules
from podium.rules.fixed.fixed_rule import declared_in

JUDGING_RULES = declared_in(
    *(log_rules, round_rules, tree_rules, layout_rules, system_rules, run_rules),
    *(consistency_rules, plausibility_rules, throughput_rules, seed_rules),
    *(power_rules, code_rules, waiver_rules, repository_rules),
)
"""In the order of the rule pages."""
