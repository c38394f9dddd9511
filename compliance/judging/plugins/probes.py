"""Probes of plug-ins: what they know of a machine, by field of its system description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podium.compliance.judging.plugins.hosting import run
from podium.compliance.judging.plugins.installed import PROBES, installed
from podium.compliance.judging.plugins.loading import LONGEST, Misbehaviour, Parts
from podium.compliance.judging.plugins.messages import Answered


def probed() -> Iterator[tuple[str, dict[str, str], str]]:
    """(plug-in, values by field, why it failed) of each plug-in that brings probes."""
    for plugin in installed():
        if any(group == PROBES for group, _ in plugin.entries):
            outcome = run(plugin, _probe, [None])
            found = outcome.answers[0].fields if not outcome.why else {}
            yield plugin.name, found, outcome.why


def _probe(parts: Parts, _: object) -> Answered:
    fields: dict[str, str] = {}
    for name, function in parts.functions[PROBES].items():
        found = function()
        if not isinstance(found, Mapping):
            raise Misbehaviour(f"finds {type(found).__name__} by {name}; must be fields = values")
        for field, value in found.items():
            plain = isinstance(value, str | int | float) and not isinstance(value, bool)
            if not isinstance(field, str) or not plain or len(str(value)) > LONGEST:
                raise Misbehaviour(f"finds {field!r} by {name}, which is no text and no number")
            fields[field] = str(value)
    return Answered(fields=fields)
