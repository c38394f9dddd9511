"""`podium plugins` and `podium rules test`: the installed plug-ins, and tests of their rules."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from podium.compliance.errors import UsageFault
from podium.compliance.judging.plugins.installed import Plugin, installed, left_out
from podium.compliance.judging.plugins.messages import Tried
from podium.compliance.judging.plugins.taking_part import tried
from podium.compliance.reporting.console import print_text
from podium.compliance.reporting.json_text import json_text
from podium.compliance.rulebook.added_rules import outcomes
from podium.compliance.rulebook.printer import Grid, Printer
from podium.compliance.text.terminal import clean
from podium.rules.model.round import Round

if TYPE_CHECKING:
    from podium.compliance.judging.plugins.hosting import Outcome

SCHEMA = "podium.plugins/1"


def list_plugins(form: str) -> bool:
    """Print every plug-in as text or JSON; return whether all can be loaded."""
    found = outcomes()
    whole = not any(each.why for each in found)
    if form == "json":
        print_text(json_text({"schema": SCHEMA, "plugins": [*map(_data, found)]}))
        return whole
    to = Printer()
    if left_out():
        to.say("plug-ins are disabled by --no-plugins or PODIUM_NO_PLUGINS")
    elif not found:
        to.say("no plug-in is installed")
    else:
        heads = ("Plug-in", "Version", "Distribution", "Adds", "State")
        to.grid(Grid(heads, tuple(map(_row, found))))
    for each in found:
        if each.why:
            to.say(clean(f"{each.plugin.name} failed: {each.why}"), "", "  ")
    return whole


def _row(each: Outcome) -> tuple[str, ...]:
    plugin = each.plugin
    state = "failed" if each.why else "loaded"
    facts = (plugin.name, plugin.version, plugin.distribution, ", ".join(_adds(each)), state)
    return tuple(map(clean, facts))


def _adds(each: Outcome) -> Iterator[str]:
    for kind, parts in _parts(each).items():
        if parts:
            yield f"{len(parts)} {kind if len(parts) > 1 else kind[:-1]}"


def _parts(each: Outcome) -> dict[str, list[str]]:
    loaded = each.loaded
    return {
        "rules": [rule.id for rule in loaded.rules],
        "formats": [part.name for part in loaded.formats],
        "trainers": [part.name for part in loaded.trainers],
        "probes": [part.name for part in loaded.probes],
    }


def _data(each: Outcome) -> dict[str, object]:
    plugin = each.plugin
    return {
        "name": plugin.name,
        "version": plugin.version,
        "distribution": plugin.distribution,
        "state": "failed" if each.why else "loaded",
        "why": each.why,
        "adds": _parts(each),
    }


# --- tests of rules ---


def try_rules(name: str, rules: Round, form: str) -> bool:
    """Print the results of a plug-in's rules on their examples; return whether all pass.

    Raises UsageFault for a plug-in that is not installed or cannot be loaded.
    """
    plugin = _named(name)
    found, why = tried(plugin, rules.usage, rules.name)
    if why:
        raise UsageFault(f"plug-in {plugin.name} {plugin.version} failed: {why}")
    passed = not any(each.problems for each in found)
    if form == "json":
        print_text(json_text({"schema": SCHEMA, "plugin": name, "rules": found}))
        return passed
    to = Printer()
    for each in found:
        to.say(f"{'FAIL' if each.problems else 'ok':<4}  {each.rule}")
        for problem in each.problems:
            to.say(clean(problem), "      ")
    to.say(_counted(found))
    return passed


def _counted(found: Sequence[Tried]) -> str:
    if not found:
        return "the plug-in has no rules"
    failing = sum(bool(each.problems) for each in found)
    return f"{len(found) - failing} of {len(found)} rules pass"


def _named(name: str) -> Plugin:
    plugins = {each.name: each for each in installed()}
    if name in plugins:
        return plugins[name]
    if left_out():
        raise UsageFault("plug-ins are disabled by --no-plugins or PODIUM_NO_PLUGINS")
    near = difflib.get_close_matches(name, plugins, 1) or sorted(plugins)[:5]
    hint = f"did you mean {' or '.join(near)}?" if near else "none is installed"
    raise UsageFault(f"no plug-in {name}; {hint}")
