"""The rules of plug-ins as people read them, like podium's own."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from podium.compliance.plugins.installed import Plugin, installed
from podium.compliance.tables.history import Kind
from podium.compliance.tables.rule import Rule
from podium.rules.checks import Check
from podium.rules.finding import StatedBy

if TYPE_CHECKING:
    from podium.compliance.plugins.hosting import Outcome
    from podium.compliance.plugins.messages import RuleData


def plugin_rules() -> tuple[Rule, ...]:
    """The rules of all plug-ins that can be loaded, by plug-in; they are of every round."""
    rules = (rule for each in outcomes() for rule in each.loaded.rules)
    return tuple(map(_rule, rules))


def outcomes() -> tuple[Outcome, ...]:
    """Every plug-in and what it adds, or why it cannot be loaded."""
    return _described(installed())


# Each is loaded in a process of its own; selectors ask for each round
@lru_cache(maxsize=4)
def _described(plugins: tuple[Plugin, ...]) -> tuple[Outcome, ...]:
    if not plugins:
        return ()
    from podium.compliance.plugins.taking_part import described

    return tuple(described(plugins))


def _rule(told: RuleData) -> Rule:
    where = f"{' and '.join(told.divisions)} division" if told.divisions else "any division"
    return Rule(
        id=told.id,
        kind=Kind.CHECK,
        table=told.id.partition(".")[0],
        key=told.key,
        meaning=where,
        constraint=told.says,
        policy=None,
        times="",
        since="",
        source=Check(
            id=told.id,
            # Its code stays in the process of the plug-in
            find=lambda *_: iter(()),
            says=told.says,
            why=told.why,
            cites=told.cites,
            bad=told.bad,
            good=told.good,
        ),
        stated_by=StatedBy.PLUGIN,
        why=told.why,
        hint="",
        cites=told.cites,
        policy_exempt_reason="",
        policy_severity=told.severity.value,
        verifier_severity="",
    )
