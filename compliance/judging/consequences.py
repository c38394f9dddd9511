"""One fact that several rules report: one finding is read, the others are marked as following.

Rules declare what they follow from, `podium.rules.consequences` marks; here are the places of a
submission by which causes are looked up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache

from podium.compliance.judging.declared_rules import JUDGING_RULES
from podium.compliance.judging.logs.consequences import follows_of_log
from podium.rules.consequences import CONTENT, Follows, Reach, mark
from podium.rules.finding import Finding


def mark_consequences(findings: Sequence[Finding], described: Mapping[str, str]) -> list[Finding]:
    """The findings, those marked that follow from another one.

    `described` has the path of each result, with that of the description of its system, "" where it
    has none. A consequence never weighs more than its cause: a report that rejects must say why.
    """

    def place(finding: Finding, reach: Reach) -> str:
        if reach is Reach.FILE:
            return finding.path
        if reach is Reach.SYSTEM and finding.path in descriptions:
            return finding.path
        result = finding.path
        if result not in described:
            result = os.path.dirname(result) or "."
        if result not in described:
            return ""
        return described[result] if reach is Reach.SYSTEM else result

    descriptions = {*described.values()}
    return mark(findings, follows_of, place)


def follows_of(rule: str) -> Sequence[Follows]:
    """What the findings of a rule follow from, by its id."""
    declared = _declared().get(rule)
    return follows_of_log(rule) if declared is None else declared


@cache
def _declared() -> Mapping[str, Sequence[Follows]]:
    return {
        rule.id: (*CONTENT, *rule.follows) if rule.reads_content else rule.follows
        for rule in JUDGING_RULES
    }
