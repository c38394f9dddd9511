"""MLPerf HPC rounds, oldest first."""

from rules.hpc.v3_0 import V3_0
from rules.round import Round

ROUNDS: dict[str, Round] = {rules.name: rules for rules in reversed(V3_0.chain())}
"""Every HPC round by name."""
