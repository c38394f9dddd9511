"""Data as the JSON text that every command prints: readable and complete."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that JSON allows but a terminal obeys: controls and changes of direction."""


def json_text(value: Any, indent: int | None = 2) -> str:
    """A value as JSON with a line end: structs as objects, non-finite numbers as strings.

    `indent` is the indentation of each level; None puts everything on one line.
    """
    # NaN is not JSON: readers other than Python's would refuse the whole text
    data = _finite(msgspec.to_builtins(value, enc_hook=str))
    try:
        text = msgspec.json.format(msgspec.json.encode(data), indent=indent or 0).decode()
    except (UnicodeEncodeError, OverflowError):
        # Half a surrogate pair has no UTF-8, and is escaped; integers of any length are written.
        text = json.dumps(data, indent=indent)
    # They occur only in strings
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _finite(value: Any) -> Any:
    """Data for JSON, with non-finite numbers as "NaN", "Infinity" and "-Infinity"."""
    if isinstance(value, dict):
        return {str(name): _finite(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
