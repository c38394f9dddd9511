"""The rules of every round that no table and no check states, from the modules that report them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from podium.compliance.judging import wrong_round
from podium.compliance.judging.inputs import tree_rules
from podium.compliance.judging.logs import log_rules
from podium.compliance.judging.power import rules as power_rules
from podium.compliance.judging.repository import repository_rules
from podium.compliance.judging.results import batch, throughput
from podium.compliance.judging.results.rules import (
    consistency_rules,
    plausibility_rules,
    run_rules,
    seed_rules,
)
from podium.compliance.judging.submission import code_rules, layout_rules
from podium.compliance.judging.systems import rules as system_rules
from podium.compliance.judging.waivers import waiver_rules
from podium.compliance.tools.history import rules as history_rules
from podium.compliance.tools.live import rules as live_rules
from podium.compliance.tools.rcp import rules as rcp_rules
from podium.compliance.tools.review import rules as review_rules
from podium.compliance.tools.scoring import rules as score_rules
from podium.rules.fixed.fixed_rule import FixedRule

# The rules of a module missing here would be reported, yet never explained: a test looks for those
MODULES: tuple[ModuleType, ...] = (
    *(log_rules, wrong_round, tree_rules, layout_rules, system_rules, run_rules),
    *(consistency_rules, plausibility_rules, batch, throughput, seed_rules, power_rules),
    *(code_rules, score_rules, rcp_rules, history_rules, waiver_rules, repository_rules),
    *(live_rules, review_rules),
)
"""Every module that declares rules, in the order in which pages list them."""


def _declared(module: ModuleType) -> Iterator[FixedRule]:
    """The rules of a module, in the order of its text; RULES names them where that has others."""
    values = getattr(module, "RULES", vars(module).values())
    return (value for value in values if isinstance(value, FixedRule))


FIXED_RULES: tuple[FixedRule, ...] = tuple(rule for each in MODULES for rule in _declared(each))
"""Every rule that a module declares as a value."""
