"""Existing descriptions of a machine, and environment variables.

Descriptions are the JSON of mlperf-sysinfo, a `:::SYSJSON` line, or an older description.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given
from podium.compliance.judging.systems.fields import FIELDS
from podium.compliance.judging.systems.probe.finding import ProbedFields
from podium.compliance.judging.systems.values import is_empty, is_placeholder
from podium.logging_spec.limits import BeyondLimitError, read_json

LARGEST = 64 << 20
"""Bytes of a raw log that are searched for the line."""

_LINE = re.compile(r":::SYSJSON\s+(?=\{)")

_NAMES = {
    "system_category": "system_type",
    "system_availability_status": "status",
    "system_node_ensemble_total": "number_of_nodes",
    "accelerator_memory_type": "accelerator_memory_configuration",
}
"""Names in mlperf-sysinfo's grouped form, with the names of the description."""

_NO_ANSWER = re.compile(r"not detected\b.*|unknown\b.*|n/?a", re.IGNORECASE | re.DOTALL)


def read_sysinfo(path: Path) -> ProbedFields:
    """The fields in a file; raises UsageFault if it has no description."""
    data = _object(path)
    result = ProbedFields()
    metadata = data.get("mlperf_sysinfo")
    # Counts of a part would look like counts of the whole system
    if isinstance(metadata, dict) and metadata.get("complete") is False:
        coverage = f"{metadata.get('nodes_collected')} of {metadata.get('nodes_expected')} nodes"
        raise UsageFault(f"{path} describes only a part of the system: {coverage} answered")
    nodes = data.get("node_types")
    if isinstance(nodes, list):
        _take_nodes(result, nodes, path)
    _take(result, data)
    if not result.fields:
        raise UsageFault(f"{path} has no field of a system description")
    return result


def _object(path: Path) -> dict[str, Any]:
    try:
        text = read_given(path, LARGEST).decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    line = _LINE.search(text)
    try:
        text = text[line.end() if line else 0 :].lstrip()
        data, _ = read_json(text, json.JSONDecoder().raw_decode)
    except BeyondLimitError as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise UsageFault(f"{path} has neither a JSON object nor a :::SYSJSON line")
    return data


def _take_nodes(result: ProbedFields, nodes: list[Any], path: Path) -> None:
    """Use the kind of node and of accelerator; if there are several, a person must choose."""
    kinds = [node for node in nodes if isinstance(node, dict)]
    if len(kinds) != 1:
        result.notes.append(f"{path.name} has {len(kinds)} kinds of nodes: none is used")
        return
    _take(result, kinds[0])
    entries = kinds[0].get("accelerator_info")
    cards = (
        [card for card in entries if isinstance(card, dict)] if isinstance(entries, list) else []
    )
    if len(cards) == 1:
        _take(result, cards[0])
    elif cards:
        result.notes.append(f"{path.name} has {len(cards)} kinds of accelerators: none is used")


def _take(result: ProbedFields, data: dict[str, Any]) -> None:
    for key, value in data.items():
        field = _NAMES.get(key, key)
        if field not in FIELDS or field in result.fields or is_empty(value):
            continue
        text = value if isinstance(value, str) else _text(value)
        if text is None or _no_answer(field, text):
            result.notes.append(f"{key} has no value")
        else:
            result.set(field, text)


def _no_answer(field: str, text: str) -> bool:
    """Whether a text means that a value is missing; for a topology `N/A` is a real value."""
    if is_placeholder(field, text):
        return True
    return bool(_NO_ANSWER.fullmatch(text.strip())) and not field.endswith("topology")


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # `podium system check` would report a count written as 8.0
        is_whole = isinstance(value, float) and value.is_integer()
        return str(int(value)) if is_whole else str(value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return ", ".join(f"{name} {number}" for name, number in value.items())


_OTHERS = {
    "submitter": ("MLPERF_SUBMISSION_ORG",),
    "system_name": ("MLPERF_SUBMISSION_PLATFORM",),
    "number_of_nodes": ("MLPERF_NUM_NODES", "DGXNNODES", "SLURM_JOB_NUM_NODES"),
    "operating_system": ("MLPERF_HOST_OS",),
}
"""Names in addition to `MLPERF_<FIELD>`; the first variable with a value counts."""


def variables_of(field: str) -> tuple[str, ...]:
    """The variables that may contain a field, in order."""
    variable = f"MLPERF_{field.upper().replace('-', '_')}"
    return (variable, *_OTHERS.get(field, ()))


def read_surroundings(variables: Mapping[str, str]) -> tuple[ProbedFields, dict[str, str]]:
    """Values by field, and the variable of each; placeholders are ignored."""
    result, sources = ProbedFields(), {}
    for field in FIELDS:
        for name in variables_of(field):
            value = variables.get(name, "").strip()
            if not value:
                continue
            if is_placeholder(field, value):
                result.notes.append(f"{name} still has a placeholder")
                continue
            result.set(field, value)
            sources[field] = f"${name}"
            break
    return result, sources
