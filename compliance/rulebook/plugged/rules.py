"""Rules of plug-ins and of the house as people read them, like podium's own."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from podium.compliance.judging.inputs.round_selection import configured_rules
from podium.compliance.judging.plugins.installed import Plugin, installed
from podium.compliance.rulebook.plugged.reading import rule_of
from podium.compliance.rulebook.tables.rule import Rule
from podium.rules.checks import Check
from podium.rules.finding import StatedBy

if TYPE_CHECKING:
    from podium.compliance.judging.plugins.hosting import Outcome
    from podium.compliance.judging.plugins.messages import RuleData


def added_rules() -> tuple[Rule, ...]:
    """All rules that podium does not come with: of plug-ins, and of the nearest podium.toml."""
    return (*plugin_rules(), *house_rules())


def house_rules() -> tuple[Rule, ...]:
    """The `[[rules]]` of the nearest podium.toml, from the working directory upwards."""
    rules = configured_rules(".")
    if not rules:
        return ()
    from podium.compliance.rulebook.plugged.house import as_rule

    return tuple(map(as_rule, rules))


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
    from podium.compliance.judging.plugins.taking_part import described

    return tuple(described(plugins))


def _rule(told: RuleData) -> Rule:
    check = Check(
        id=told.id,
        # Its code stays in the process of the plug-in
        find=lambda *_: iter(()),
        says=told.says,
        why=told.why,
        cites=told.cites,
        key=told.key,
        bad=told.bad,
        good=told.good,
        severity=told.severity,
        stated_by=StatedBy.PLUGIN,
        divisions=told.divisions,
    )
    return rule_of(check)
