"""`podium rules test`: whether a plug-in's rules do what their own examples say."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.judging.plugins.hosting import run
from podium.compliance.judging.plugins.installed import Plugin
from podium.compliance.judging.plugins.judging import example
from podium.compliance.judging.plugins.loading import Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import Answered, Tried
from podium.rules.catalogue import find_round
from podium.rules.checks import Check
from podium.rules.model.round import Round


def tried(plugin: Plugin, usage: str, round_: str) -> tuple[tuple[Tried, ...], str]:
    """Each rule of a plug-in tried on its examples, by the limits of a round.

    The text says why the plug-in failed, and is empty where it did not.
    """
    outcome = run(plugin, _try_all, [(usage, round_)])
    if outcome.why:
        return (), outcome.why
    return outcome.answers[0].tried, ""


def _try_all(parts: Parts, job: tuple[str, str]) -> Answered:
    rules = find_round(*job)
    found = (Tried(each.id, tuple(_problems(each, rules))) for each in parts.checks.values())
    return Answered(tried=tuple(found))


def _problems(check: Check, rules: Round) -> Iterator[str]:
    if check.says.endswith("."):
        yield "`says` ends with a full stop; must be one clause without"
    if not check.why:
        yield "the function has no docstring; must say why the rule is there"
    if not check.cites:
        yield "`cites` is empty; must name the text that states the rule"
    try:
        yield from _of_examples(check, rules)
    except Misbehaviour as error:
        yield str(error)


def _of_examples(check: Check, rules: Round) -> Iterator[str]:
    if not check.bad or not check.good:
        yield "an example is missing; must have a `bad` and a `good` excerpt of a log"
    broken = example(check, check.bad, rules) if check.bad else []
    if check.bad and not broken:
        yield "finds nothing in its bad example; must find what it is about"
    if check.good and (found := example(check, check.good, rules)):
        yield f"finds a fault in its good example ({found[0].message}); must find none"
    for each in broken[:1]:
        if "; must " not in each.message:
            yield f"its message is {each.message!r}; must say what is found, then `; must …`"
        if not each.hint:
            yield "its violation has no hint; must say what to do"
