"""Short log excerpts: the examples on the pages of checks."""

from __future__ import annotations

import json
from typing import Any

START_MS = 1_735_689_600_000
"""Start time of the runs in examples: 2025-01-01."""

_MINUTE_MS = 60_000


def at(minute: float, key: str, value: Any = None, **metadata: Any) -> str:
    """One log line, `minute` minutes after the start of the excerpt."""
    record = {
        "time_ms": START_MS + round(minute * _MINUTE_MS),
        "key": key,
        "value": value,
        "metadata": metadata,
    }
    return f":::MLLOG {json.dumps(record)}"


def excerpt(*lines: str) -> str:
    """Lines of a log as one string."""
    return "\n".join(lines)
