"""One fact that several rules report: one finding is shown, the others are marked as consequences.

Rules declare their causes, and `podium.rules.consequences` marks the findings. This module has the
places of a submission in which causes are looked up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache

from podium.compliance.judging.declared_rules import JUDGING_RULES
from podium.compliance.judging.logs.consequences import follows_of_log
from podium.rules.consequences import CONTENT, Follows, Reach, mark
from podium.rules.finding import Finding


def mark_consequences(findings: Sequence[Finding], systems: Mapping[str, str]) -> list[Finding]:
    """The findings; findings that follow from another are marked.

    `systems` maps the path of each result to the path of its system's description, or "" if it
    has none. A consequence is never more severe than its cause: a report that rejects must say why.
    """

    def location_of(finding: Finding, reach: Reach) -> str:
        if reach is Reach.FILE:
            return finding.path
        if reach is Reach.SYSTEM and finding.path in descriptions:
            return finding.path
        result = finding.path
        if result not in systems:
            result = os.path.dirname(result) or "."
        if result not in systems:
            return ""
        return systems[result] if reach is Reach.SYSTEM else result

    descriptions = {*systems.values()}
    return mark(findings, follows_of, location_of)


def follows_of(rule: str) -> Sequence[Follows]:
    """The causes of a rule's findings, by its id."""
    declared = _declared().get(rule)
    return follows_of_log(rule) if declared is None else declared


@cache
def _declared() -> Mapping[str, Sequence[Follows]]:
    return {
        rule.id: (*CONTENT, *rule.follows) if rule.reads_content else rule.follows
        for rule in JUDGING_RULES
    }
