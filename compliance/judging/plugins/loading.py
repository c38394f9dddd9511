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
            held = _held(group, value)
            if group == RULES:
                self._take_checks(plugin, value, held)
            else:
                self._take_functions(plugin, group, value, held)

    def _take_checks(self, plugin: Plugin, value: str, held: Any) -> None:
        for each in _listed(value, held):
            check = _checked(plugin.name, value, each)
            if check.id in self.checks:
                raise Misbehaviour(f"has two rules with the id {check.id}")
            self.checks[check.id] = check

    def _take_functions(self, plugin: Plugin, group: str, value: str, held: Any) -> None:
        if not isinstance(held, Mapping) or not held:
            raise Misbehaviour(f"has {type(held).__name__} at {value}; expected a mapping")
        for name, function in list(held.items())[:MOST_PARTS]:
            # Trainers run in podium's own process: their packages are not imported here
            right = isinstance(function, str) if group == TRAINERS else callable(function)
            if not isinstance(name, str) or not _ID.fullmatch(name) or not right:
                what = "the name of a package" if group == TRAINERS else "a function"
                raise Misbehaviour(f"has {name!r} at {value}; expected a name and {what}")
            self.functions[group][f"{plugin.name}.{name}"] = function

    def told(self) -> Loaded:
        """The parts as data."""
        named = {
            group: tuple(PluginPart(name, _about(function)) for name, function in functions.items())
            for group, functions in self.functions.items()
        }
        rules = tuple(map(_told, self.checks.values()))
        return Loaded(rules, named[FORMATS], named[TRAINERS], named[PROBES])


def _held(group: str, value: str) -> Any:
    """The object that an entry point names, or the list of parts of a module."""
    module, _, member = value.partition(":")
    held: Any = import_module(module.strip())
    for name in filter(None, member.partition("[")[0].strip().split(".")):
        held = getattr(held, name)
    return getattr(held, _MEMBERS[group]) if isinstance(held, ModuleType) else held


def _listed(value: str, held: Any) -> list[Any]:
    if isinstance(held, Check):
        return [held]
    if not isinstance(held, Iterable) or isinstance(held, str | bytes | Mapping):
        raise Misbehaviour(f"has {type(held).__name__} at {value}; expected checks")
    listed = []
    for each in held:
        listed.append(each)
        if len(listed) > MOST_PARTS:
            raise Misbehaviour(f"has more than {MOST_PARTS} rules at {value}")
    return listed


def _checked(name: str, value: str, given: Any) -> Check:
    """A rule of the plug-in for podium; raises Misbehaviour if it is invalid."""
    if not isinstance(given, Check):
        raise Misbehaviour(f"has {type(given).__name__} at {value}; expected checks")
    # A struct accepts any value for a field: an error would show in the middle of a report
    if not isinstance(given.id, str) or not _ID.fullmatch(given.id):
        raise Misbehaviour(f"has a rule {given.id!r}; expected letters, digits, dots and hyphens")
    texts = (given.says, given.why, given.cites, given.bad, given.good, given.key or "")
    if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
        raise Misbehaviour(f"has an invalid text in {given.id}, or one longer than {LONGEST}")
    if not given.says or not callable(given.find) or not isinstance(given.severity, Severity):
        raise Misbehaviour(f"has a rule {given.id} without text, function or severity")
    named = given.id if given.id.startswith(f"{name}.") else f"{name}.{given.id}"
    return replace(given, id=named, stated_by=StatedBy.PLUGIN)


def _told(check: Check) -> RuleData:
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
