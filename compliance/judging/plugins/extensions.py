"""Extensions other than rules: probes of a machine, formats of reports, trainers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from podium.compliance.errors import UsageFault
from podium.compliance.judging.plugins.hosting import run
from podium.compliance.judging.plugins.installed import (
    FORMATS,
    PROBES,
    TRAINERS,
    installed,
    left_out,
)
from podium.compliance.judging.plugins.loading import LONGEST, Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import LARGEST, Answered
from podium.compliance.judging.plugins.taking_part import described
from podium.compliance.reporting.data import Outcome
from podium.compliance.reporting.json_text import json_text
from podium.compliance.text.terminal import clean, clean_document
from podium.compliance.text.words import join_limited
from podium.logging_spec.limits import read_json


def probed() -> Iterator[tuple[str, dict[str, str], str]]:
    """(plug-in, values by field, reason of a failure) of each plug-in with probes."""
    for plugin in installed():
        if any(group == PROBES for group, _ in plugin.entries):
            outcome = run(plugin, _probe, [None])
            fields = outcome.answers[0].fields if not outcome.why else {}
            yield plugin.name, fields, outcome.why


def _probe(parts: Parts, _: object) -> Answered:
    fields: dict[str, str] = {}
    for name, function in parts.functions[PROBES].items():
        values = function()
        if not isinstance(values, Mapping):
            raise Misbehaviour(f"returns {type(values).__name__} from {name}; expected a mapping")
        for field, value in values.items():
            is_scalar = isinstance(value, str | int | float) and not isinstance(value, bool)
            if not isinstance(field, str) or not is_scalar or len(str(value)) > LONGEST:
                raise Misbehaviour(f"returns an invalid value of {field!r} from {name}")
            fields[field] = str(value)
    return Answered(fields=fields)


def rendered(name: str, report: Outcome) -> tuple[str, str]:
    """A report in the format PLUGIN.NAME, or empty and the reason of a failure.

    Control characters are removed, because a function may repeat the content of a log.
    """
    (plugin,) = [plugin for plugin in installed() if plugin.name == name.partition(".")[0]]
    outcome = run(plugin, partial(_render, name), [json_text(report)])
    if outcome.why:
        return "", clean(outcome.why)
    return clean_document(outcome.answers[0].text), ""


def _render(name: str, parts: Parts, report: str) -> Answered:
    """The report in the plug-in's format, made from its JSON data."""
    functions = parts.functions[FORMATS]
    if name not in functions:
        raise Misbehaviour(
            f"has no format {name}; available: {join_limited(list(functions)) or 'none'}"
        )
    text = functions[name](read_json(report))
    if not isinstance(text, str):
        raise Misbehaviour(f"returns {type(text).__name__} from {name}; expected a string")
    if len(text) > LARGEST // 4:
        raise Misbehaviour(f"returns more than {LARGEST // 4 >> 20} MiB from {name}")
    return Answered(text=text)


def trainers() -> dict[str, str]:
    """The package of each trainer of a plug-in, by PLUGIN.NAME."""
    return {
        part.name: part.about
        for outcome in described([plugin for plugin in installed() if _trains(plugin.entries)])
        for part in outcome.loaded.trainers
    }


def package_of(name: str) -> str:
    """The package of the trainer PLUGIN.NAME; raises UsageFault if there is none."""
    packages = trainers()
    if name not in packages:
        names = ", ".join(sorted(packages)) or ("plug-ins are disabled" if left_out() else "none")
        raise UsageFault(f"no plug-in has the trainer {name}; available: {names}")
    return packages[name]


def _trains(entries: tuple[tuple[str, str], ...]) -> bool:
    return any(group == TRAINERS for group, _ in entries)
