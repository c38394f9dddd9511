"""Formats of plug-ins: a report as text, made in the plug-in's own process."""

from __future__ import annotations

from functools import partial

from podium.compliance.judging.plugins.hosting import run
from podium.compliance.judging.plugins.installed import FORMATS, installed
from podium.compliance.judging.plugins.loading import Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import LARGEST, Answered
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, clean_document
from podium.compliance.text.words import join_limited
from podium.logging_spec.limits import read_json


def rendered(name: str, report: Outcome) -> tuple[str, str]:
    """A report in the format PLUGIN.NAME of an installed plug-in, or empty and why it failed.

    It has nothing that a terminal would obey: a function may repeat what a log says.
    """
    (plugin,) = [each for each in installed() if each.name == name.partition(".")[0]]
    outcome = run(plugin, partial(_render, name), [json_text(report)])
    if outcome.why:
        return "", clean(outcome.why)
    return clean_document(outcome.answers[0].text), ""


def _render(name: str, parts: Parts, report: str) -> Answered:
    """The text that the plug-in makes of a report, given as its JSON data."""
    functions = parts.functions[FORMATS]
    if name not in functions:
        raise Misbehaviour(
            f"has no format {name}; it has {join_limited(list(functions)) or 'none'}"
        )
    text = functions[name](read_json(report))
    if not isinstance(text, str):
        raise Misbehaviour(f"makes {type(text).__name__} of a report in {name}; must be text")
    if len(text) > LARGEST // 4:
        raise Misbehaviour(f"makes more than {LARGEST // 4 >> 20} MiB of a report in {name}")
    return Answered(text=text)
