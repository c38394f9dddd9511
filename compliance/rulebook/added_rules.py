"""Rules of plug-ins and of podium.toml, in the form of podium's rules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from podium.compliance.judging.inputs.house_rules import HouseRule, as_check
from podium.compliance.judging.inputs.round_selection import configured_rules
from podium.compliance.judging.plugins.installed import Plugin, installed
from podium.compliance.rulebook.tables.rule import Rule, check_rule
from podium.logging_spec.reader.record import Record
from podium.rules.checks import Check
from podium.rules.finding import StatedBy

if TYPE_CHECKING:
    from podium.compliance.judging.plugins.hosting import Outcome
    from podium.compliance.judging.plugins.messages import RuleData


def added_rules() -> tuple[Rule, ...]:
    """All rules of plug-ins and of the nearest podium.toml."""
    return (*plugin_rules(), *house_rules())


def house_rules() -> tuple[Rule, ...]:
    """The `[[rules]]` of the nearest podium.toml, from the working directory upwards."""
    return tuple(map(_house_rule, configured_rules(".")))


def plugin_rules() -> tuple[Rule, ...]:
    """The rules of all plug-ins that can be loaded, by plug-in; they apply to every round."""
    rules = (rule for outcome in outcomes() for rule in outcome.loaded.rules)
    return tuple(map(_plugin_rule, rules))


def outcomes() -> tuple[Outcome, ...]:
    """Every plug-in with its additions, or the reason why it cannot be loaded."""
    return _described(installed())


# Each plug-in is loaded in a separate process; selectors ask for each round
@lru_cache(maxsize=4)
def _described(plugins: tuple[Plugin, ...]) -> tuple[Outcome, ...]:
    if not plugins:
        return ()
    from podium.compliance.judging.plugins.taking_part import described

    return tuple(described(plugins))


def _plugin_rule(data: RuleData) -> Rule:
    check = Check(
        id=data.id,
        # Its code stays in the process of the plug-in
        find=lambda *_: iter(()),
        says=data.says,
        why=data.why,
        cites=data.cites,
        key=data.key,
        bad=data.bad,
        good=data.good,
        severity=data.severity,
        stated_by=StatedBy.PLUGIN,
        divisions=data.divisions,
    )
    return check_rule(check)


def _house_rule(rule: HouseRule) -> Rule:
    """The rule with a bad and a good example, if its bound yields such values."""
    from podium.compliance.rulebook.tables.examples import example
    from podium.compliance.rulebook.tables.whole_log import line_of

    def lines(records: Iterable[Record]) -> str:
        return "\n".join(line_of(record, "mllog", "").decode() for record in records)

    sample = example(rule.row, {})
    check = as_check(rule)
    if sample is not None:
        check = replace(check, bad=lines(sample.bad), good=lines(sample.good))
    return check_rule(check)
