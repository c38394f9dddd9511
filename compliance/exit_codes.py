"""Exit statuses, the same for every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the process tells its caller."""

    CLEAN = 0
    FOUND = 1
    USAGE = 2
    INTERNAL = 3
    INTERRUPTED = 130
