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
    results = outcomes()
    all_loaded = not any(outcome.why for outcome in results)
    if form == "json":
        print_text(json_text({"schema": SCHEMA, "plugins": [*map(_data, results)]}))
        return all_loaded
    printer = Printer()
    if left_out():
        printer.say("plug-ins are disabled by --no-plugins or PODIUM_NO_PLUGINS")
    elif not results:
        printer.say("no plug-in is installed")
    else:
        heads = ("Plug-in", "Version", "Distribution", "Adds", "State")
        printer.grid(Grid(heads, tuple(map(_row, results))))
    for outcome in results:
        if outcome.why:
            printer.say(clean(f"{outcome.plugin.name} failed: {outcome.why}"), "", "  ")
    return all_loaded


def _row(outcome: Outcome) -> tuple[str, ...]:
    plugin = outcome.plugin
    state = "failed" if outcome.why else "loaded"
    facts = (plugin.name, plugin.version, plugin.distribution, ", ".join(_adds(outcome)), state)
    return tuple(map(clean, facts))


def _adds(outcome: Outcome) -> Iterator[str]:
    for kind, parts in _parts(outcome).items():
        if parts:
            yield f"{len(parts)} {kind if len(parts) > 1 else kind[:-1]}"


def _parts(outcome: Outcome) -> dict[str, list[str]]:
    loaded = outcome.loaded
    return {
        "rules": [rule.id for rule in loaded.rules],
        "formats": [part.name for part in loaded.formats],
        "trainers": [part.name for part in loaded.trainers],
        "probes": [part.name for part in loaded.probes],
    }


def _data(outcome: Outcome) -> dict[str, object]:
    plugin = outcome.plugin
    return {
        "name": plugin.name,
        "version": plugin.version,
        "distribution": plugin.distribution,
        "state": "failed" if outcome.why else "loaded",
        "why": outcome.why,
        "adds": _parts(outcome),
    }


# --- tests of rules ---


def try_rules(name: str, rules: Round, form: str) -> bool:
    """Print the results of a plug-in's rules on their examples; return whether all pass.

    Raises UsageFault for a plug-in that is not installed or cannot be loaded.
    """
    plugin = _named(name)
    results, reason = tried(plugin, rules.usage, rules.name)
    if reason:
        raise UsageFault(f"plug-in {plugin.name} {plugin.version} failed: {reason}")
    passed = not any(result.problems for result in results)
    if form == "json":
        print_text(json_text({"schema": SCHEMA, "plugin": name, "rules": results}))
        return passed
    printer = Printer()
    for result in results:
        printer.say(f"{'FAIL' if result.problems else 'ok':<4}  {result.rule}")
        for problem in result.problems:
            printer.say(clean(problem), "      ")
    printer.say(_counted(results))
    return passed


def _counted(results: Sequence[Tried]) -> str:
    if not results:
        return "the plug-in has no rules"
    failing = sum(bool(result.problems) for result in results)
    return f"{len(results) - failing} of {len(results)} rules pass"


def _named(name: str) -> Plugin:
    plugins = {plugin.name: plugin for plugin in installed()}
    if name in plugins:
        return plugins[name]
    if left_out():
        raise UsageFault("plug-ins are disabled by --no-plugins or PODIUM_NO_PLUGINS")
    matches = difflib.get_close_matches(name, plugins, 1) or sorted(plugins)[:5]
    hint = f"did you mean {' or '.join(matches)}?" if matches else "none is installed"
    raise UsageFault(f"no plug-in {name}; {hint}")
