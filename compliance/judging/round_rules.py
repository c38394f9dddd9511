"""The rule on the round that logs are checked against."""

from __future__ import annotations

from podium.rules.citations import OWN
from podium.rules.finding import Severity
from podium.rules.fixed.fixed_rule import own

WRONG_ROUND = own(
    "round.mismatch",
    Severity.ERROR,
    says="logs are checked against the rules of their round",
    why="a log that violates many rules of one round and none of another most likely belongs to "
    "the other round",
    message="{count} of {total} logs violate rules of {judged_by} ({broken}) and none of {fits}",
    help="use {options}{others}, or name the round in podium.toml; if these are logs of "
    "{judged_by}, fix the findings that --full lists",
    cites=f"{OWN}, Plausibility",
    bad="a submission of 5.0 is checked with --round 6.1",
    good="it is checked with --round 5.0",
    reads_content=False,
)
