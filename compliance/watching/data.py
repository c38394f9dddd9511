"""Data as JSON text that any reader takes: non-finite numbers are words, as in reports."""

from __future__ import annotations

import json
import math
from typing import Any


def to_json(data: Any, *, indent: int | None = 2) -> str:
    """The text, with a line end."""
    return json.dumps(_finite(data), indent=indent, default=str, allow_nan=False) + "\n"


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    return data
