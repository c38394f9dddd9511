"""Exit statuses, the same for every command."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit status of the process."""

    CLEAN = 0
    FOUND = 1
    USAGE = 2
    INTERNAL = 3
    INTERRUPTED = 130
