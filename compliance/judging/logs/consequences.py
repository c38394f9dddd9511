"""Faults of a log from which its other findings follow: they are marked, so that one is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

from podium.compliance.judging.logs import log_rules
from podium.rules.checks import catalogue
from podium.rules.consequences import CONTENT, OF_REPEATED_RECORDS, ROWS, Follows, Reach, mark
from podium.rules.finding import Finding
from podium.rules.fixed.fixed_rule import declared_in


def mark_consequences(findings: Sequence[Finding], repeats: Collection[str]) -> list[Finding]:
    """The findings of one log, those marked that follow from another of them.

    `repeats` are the ids of rules that only report records for being in the log more than once.
    """

    def declared(rule: str) -> Sequence[Follows]:
        follows = follows_of_log(rule)
        return (*follows, OF_REPEATED_RECORDS) if rule in repeats else follows

    return mark(findings, declared, _file) if len(findings) > 1 else [*findings]


def _file(finding: Finding, reach: Reach) -> str:
    return finding.path if reach is Reach.FILE else ""


def follows_of_log(rule: str) -> Sequence[Follows]:
    """What the findings of a rule about a log follow from, by the rule's id.

    Rules that are not declared here are rows of tables, or those of plug-ins and of podium.toml.
    """
    declared = _declared().get(rule)
    return (*CONTENT, *ROWS.get(rule.partition(".")[0], ())) if declared is None else declared


@cache
def _declared() -> Mapping[str, Sequence[Follows]]:
    fixed = {
        rule.id: (*CONTENT, *rule.follows) if rule.reads_content else rule.follows
        for rule in declared_in(log_rules)
    }
    return fixed | {check.id: (*CONTENT, *check.follows) for check in catalogue.HPC}
