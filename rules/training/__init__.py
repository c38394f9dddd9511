"""MLPerf Training rounds, oldest first."""

from rules.round import Round
from rules.training.v0_5 import V0_5
from rules.training.v0_6 import V0_6
from rules.training.v6_1 import V6_1

ROUNDS: dict[str, Round] = {rules.name: rules for rules in (V0_5, V0_6, *reversed(V6_1.chain()))}
"""Every training round by name."""
