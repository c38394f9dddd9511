"""A check that is of no round, as people read it."""

from __future__ import annotations

from podium.compliance.rulebook.tables.history import Kind
from podium.compliance.rulebook.tables.rule import Rule
from podium.rules.checks import Check


def rule_of(check: Check) -> Rule:
    """A check that is of no round, as people read it."""
    where = f"{' and '.join(check.divisions)} division" if check.divisions else "any division"
    return Rule(
        id=check.id,
        kind=Kind.CHECK,
        table=check.id.partition(".")[0],
        key=check.key,
        meaning=where,
        constraint=check.says,
        policy=None,
        times="",
        since="",
        source=check,
        stated_by=check.stated_by,
        why=check.why,
        hint="",
        cites=check.cites,
        policy_exempt_reason="",
        policy_severity=check.severity.value,
        verifier_severity="",
    )
