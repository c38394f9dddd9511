"""The content of a plug-in's entry points, loaded in the plug-in's process."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from podium.compliance.judging.plugins.installed import (
    FORMATS,
    PROBES,
    RULES,
    TRAINERS,
    Plugin,
    places,
)
from podium.compliance.judging.plugins.messages import Loaded, PluginPart, RuleData
from podium.rules.checks import Check
from podium.rules.finding import Severity, StatedBy

MOST_PARTS = 1000
"""Number of rules, or of other parts, of one plug-in."""

LONGEST = 4000
"""Longest text of a rule, in characters."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_MEMBERS = {RULES: "RULES", FORMATS: "FORMATS", TRAINERS: "TRAINERS", PROBES: "PROBES"}
"""The name that is looked up in an entry point that is a module."""


class Misbehaviour(Exception):
    """A plug-in did something forbidden; the message continues a sentence after its name."""


class Parts:
    """All parts of a plug-in by name: checks, and the functions of its formats and probes."""

    def __init__(self, plugin: Plugin) -> None:
        self.checks: dict[str, Check] = {}
        self.functions: dict[str, dict[str, Any]] = {FORMATS: {}, TRAINERS: {}, PROBES: {}}
        # A file in the current folder must not be imported as a module of the plug-in
        sys.path[:] = places()
        for group, value in plugin.entries:
            exported = _held(group, value)
            if group == RULES:
                self._take_checks(plugin, value, exported)
            else:
                self._take_functions(plugin, group, value, exported)

    def _take_checks(self, plugin: Plugin, value: str, exported: Any) -> None:
        for item in _listed(value, exported):
            check = _checked(plugin.name, value, item)
            if check.id in self.checks:
                raise Misbehaviour(f"has two rules with the id {check.id}")
            self.checks[check.id] = check

    def _take_functions(self, plugin: Plugin, group: str, value: str, exported: Any) -> None:
        if not isinstance(exported, Mapping) or not exported:
            raise Misbehaviour(f"has {type(exported).__name__} at {value}; expected a mapping")
        for name, function in list(exported.items())[:MOST_PARTS]:
            # Trainers run in podium's own process: their packages are not imported here
            right = isinstance(function, str) if group == TRAINERS else callable(function)
            if not isinstance(name, str) or not _ID.fullmatch(name) or not right:
                expected = "the name of a package" if group == TRAINERS else "a function"
                raise Misbehaviour(f"has {name!r} at {value}; expected a name and {expected}")
            self.functions[group][f"{plugin.name}.{name}"] = function

    def loaded(self) -> Loaded:
        """The parts as data."""
        names = {
            group: tuple(PluginPart(name, _about(function)) for name, function in functions.items())
            for group, functions in self.functions.items()
        }
        rules = tuple(map(_rule_data, self.checks.values()))
        return Loaded(rules, names[FORMATS], names[TRAINERS], names[PROBES])


def _held(group: str, value: str) -> Any:
    """The object that an entry point names, or the list of parts of a module."""
    module, _, member = value.partition(":")
    exported: Any = import_module(module.strip())
    for name in filter(None, member.partition("[")[0].strip().split(".")):
        exported = getattr(exported, name)
    return getattr(exported, _MEMBERS[group]) if isinstance(exported, ModuleType) else exported


def _listed(value: str, exported: Any) -> list[Any]:
    if isinstance(exported, Check):
        return [exported]
    if not isinstance(exported, Iterable) or isinstance(exported, str | bytes | Mapping):
        raise Misbehaviour(f"has {type(exported).__name__} at {value}; expected checks")
    items = []
    for item in exported:
        items.append(item)
        if len(items) > MOST_PARTS:
            raise Misbehaviour(f"has more than {MOST_PARTS} rules at {value}")
    return items


def _checked(name: str, value: str, check: Any) -> Check:
    """A rule of the plug-in for podium; raises Misbehaviour if it is invalid."""
    if not isinstance(check, Check):
        raise Misbehaviour(f"has {type(check).__name__} at {value}; expected checks")
    # A struct accepts any value for a field: an error would show in the middle of a report
    if not isinstance(check.id, str) or not _ID.fullmatch(check.id):
        raise Misbehaviour(f"has a rule {check.id!r}; expected letters, digits, dots and hyphens")
    texts = (check.says, check.why, check.cites, check.bad, check.good, check.key or "")
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
        raise Misbehaviour(f"has an invalid text in {check.id}, or one longer than {LONGEST}")
    if not check.says or not callable(check.find) or not isinstance(check.severity, Severity):
        raise Misbehaviour(f"has a rule {check.id} without text, function or severity")
    rule_id = check.id if check.id.startswith(f"{name}.") else f"{name}.{check.id}"
    return replace(check, id=rule_id, stated_by=StatedBy.PLUGIN)


def _rule_data(check: Check) -> RuleData:
    return RuleData(
        check.id,
        check.says,
        check.why,
        check.cites,
        check.key,
        check.bad,
        check.good,
        check.severity,
        tuple(map(str, check.divisions)),
    )


def _about(function: Any) -> str:
    if isinstance(function, str):
        return function[:LONGEST]
    text = getattr(function, "__doc__", "")
    return text.strip().partition("\n")[0][:LONGEST] if isinstance(text, str) else ""
