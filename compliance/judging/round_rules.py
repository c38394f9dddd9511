"""The rule on the round that logs are judged by."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import own

WRONG_ROUND = own(
    "round.mismatch",
    Severity.ERROR,
    says="logs are judged by the rules of their own round",
    why="a log that breaks many rules of one round and none of another is most likely of the other",
    message="{count} of {total} logs break rules of {judged_by} ({broken}) and none of {fits}",
    help="give {options}{others}, or name the round in podium.toml; if these are logs of "
    "{judged_by}, fix what --full lists",
    cites=f"{OWN}, Plausibility",
    bad="a submission of 5.0 is checked with --round 6.1",
    good="it is checked with --round 5.0",
    reads_content=False,
)
