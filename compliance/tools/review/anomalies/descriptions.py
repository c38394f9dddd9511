"""System descriptions of one submitter that disagree on fields that should be the same."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from podium.compliance.judging.results.result import Result
from podium.compliance.judging.systems.fields import letters
from podium.compliance.text.words import join_limited
from podium.compliance.tools.review.material import Material
from podium.compliance.tools.review.review_rules import DESCRIPTION_CHANGES
from podium.rules.finding import Finding, Profile

NODE = ("accelerator_model_name", "host_processor_model_name", "accelerators_per_node")
"""Fields that identify a kind of node: if they agree, the systems differ only in size."""

SAME = (
    *("host_processors_per_node", "host_processor_core_count", "host_memory_capacity"),
    *("accelerator_memory_capacity", "accelerator_memory_type", "operating_system"),
)
"""Fields in which nodes of one kind agree."""

SOFTWARE = ("framework",)
"""Fields in which results of one benchmark agree: benchmarks may use different frameworks."""

CAPACITIES = ("host_memory_capacity", "accelerator_memory_capacity")
LEAST_APART = 0.1
"""Minimum relative difference of capacities: 80 GB may be 81559 MiB, less the driver's share."""

_CAPACITY = re.compile(r"(?:(\d+)\s*[x*\u00d7]\s*)?(\d+(?:\.\d+)?)\s*([KMGTP])(i?)B", re.IGNORECASE)

VERSIONED = ("operating_system",)
_MINOR = re.compile(r"(\d+\.\d+)(?:\.\d+)+")
"""A version with a patch level, which updates change."""

_ADDED = re.compile(r"\([^()]*\)|\bLTS\b", re.IGNORECASE)
"""Words of a version that say nothing more, such as `22.04 LTS (Jammy Jellyfish)`."""

_LONGEST = 60


def changing(material: Material) -> Iterator[Finding]:
    """Systems of one kind whose descriptions differ, each compared with the first of its kind."""
    kinds: dict[tuple[str, ...], dict[str, Result]] = defaultdict(dict)
    for result in material.results:
        if result.description is not None:
            fields = result.description.given
            kind = tuple(letters(str(fields.get(name, ""))) for name in NODE)
            if kind[0]:
                submitter = result.place.submitter
                kinds[(submitter, *kind)].setdefault(result.place.system, result)
    for systems in kinds.values():
        first, *others = systems.values()
        for other in others:
            yield from _compared(other, first, SAME)
    yield from _frameworks(material)


def _frameworks(material: Material) -> Iterator[Finding]:
    groups: dict[tuple[str, str, str], dict[str, Result]] = defaultdict(dict)
    for result in material.results:
        if result.description is not None:
            location = result.place
            model = letters(result.description.accelerator_model_name)
            key = location.submitter, f"{location.benchmark} {result.division}", model
            groups[key].setdefault(location.system, result)
    reported: set[str] = set()
    for systems in groups.values():
        first, *others = systems.values()
        for other in others:
            for finding in _compared(other, first, SOFTWARE):
                if finding.path not in reported:
                    reported.add(finding.path)
                    yield finding


def _compared(result: Result, other: Result, names: tuple[str, ...]) -> Iterator[Finding]:
    """A finding if fields of the two descriptions differ; a missing field is not a difference."""
    assert result.description is not None
    assert other.description is not None
    fields, other_fields = result.description.given, other.description.given
    differing = [name for name in names if _differs(fields, other_fields, name)]
    if not differing:
        return
    name, other_names = differing[0], differing[1:]
    yield DESCRIPTION_CHANGES.found(
        Profile.POLICY,
        _path(result),
        key=name,
        field=name,
        value=_shown(fields[name]),
        other_value=_shown(other_fields[name]),
        other=_path(other),
        accelerator=result.description.accelerator_model_name or "no accelerator",
        more=f"; also different: {join_limited(other_names)}" if other_names else "",
    )


def _differs(fields: Mapping[str, Any], other_fields: Mapping[str, Any], name: str) -> bool:
    value, other = str(fields.get(name) or ""), str(other_fields.get(name) or "")
    if name in CAPACITIES:
        size, other_size = _bytes(value), _bytes(other)
        if size is not None and other_size is not None:
            return not math.isclose(size, other_size, rel_tol=LEAST_APART)
    if name in VERSIONED:
        value, other = (_release(text) for text in (value, other))
    return bool(letters(value) and letters(other) and letters(value) != letters(other))


def _release(text: str) -> str:
    """A version without its patch level and without the words that some descriptions add."""
    return _MINOR.sub(r"\1", _ADDED.sub("", text))


def _bytes(text: str) -> float | None:
    """A capacity such as 80 GB, 81559MiB or 24x64GB in bytes; None if it has no unit."""
    match = _CAPACITY.search(text.replace(",", ""))
    if match is None:
        return None
    base = 1024 if match[4] else 1000
    unit = float(base ** " KMGTP".index(match[3].upper()))
    return int(match[1] or 1) * float(match[2]) * unit


def _path(result: Result) -> str:
    """The path of a result's system description, as reports show it."""
    location = result.place
    above = location.display_path.rpartition(f"results/{location.system}")[0]
    return f"{above}systems/{location.system}.json"


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
