"""Plausible records of any key, and values to try in addition to those of a constraint."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.logging_spec import keys as k
from podium.logging_spec.keys import Key
from podium.logging_spec.reader.record import Record

START_MS = 1_735_689_600_000
"""The start of the runs in examples: 2025-01-01."""

COMMON_VALUES: tuple[Any, ...] = (
    *(1, 0, -1, 0.5, 1.5, 2, 3, 100, 1024, 1e9),
    *("", "other", True, False, None),
    *([], [1], [1, 2], [1, 50], [1, 55], [1, 52], {"success": True}),
)
"""Values that are tried after those of a constraint."""

DEFAULTS: dict[str, Any] = {
    "int": 100,
    "float": 0.1,
    "bool": True,
    "str": "example",
    "list": [1, 2],
    "object": {},
}
"""The value of an unconstrained key, by type."""

USUAL: dict[str, Any] = {
    "global_batch_size": 1024,
    "opt_base_learning_rate": 0.001,
    "num_prompts_per_step": 64,
    "submission_org": "Example Ltd",
    "submission_platform": "example_system",
    "submission_poc_email": "results@example.org",
}


def usual_value(key: Key) -> Any:
    """A plausible value of a key."""
    return USUAL.get(key.name, DEFAULTS.get(key.type))


def blank(key: Key) -> Record:
    """A record of a key as it is usually logged."""
    # mllog writes null as the value of an interval's start and end
    value = None if key.role.startswith("interval") else usual_value(key)
    event = {"interval_start": k.INTERVAL_START, "interval_end": k.INTERVAL_END}
    return Record(key.name, START_MS, value, {}, event.get(key.role, k.POINT_IN_TIME), "")


def at(record: Record, seconds: int) -> Record:
    """The record at `seconds` after the start."""
    return msgspec.structs.replace(record, time_ms=START_MS + 1000 * seconds)


def otherwise(record: Record) -> Record:
    """The same key with another value, a second later."""
    # Equal values would only be a warning of the official verifier, so they must differ
    value: Any = {"int": 101, "float": 0.2, "str": "another"}.get(_type(record.value))
    return msgspec.structs.replace(record, value=value, time_ms=record.time_ms + 1000)


def _type(value: Any) -> str:
    names = {int: "int", float: "float", str: "str"}
    return names.get(type(value), "")
