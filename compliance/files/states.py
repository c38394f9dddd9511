"""The state of a file, by which one is known again without being read."""

from __future__ import annotations

import os

State = tuple[int, int, int, int]
"""Bytes, time of change of content and of anything (ns), inode: no write leaves all as they are."""

TICK_NS = 2_000_000_000
"""Nanoseconds: no file system counts its times in longer steps."""


def state_of(status: os.stat_result) -> State:
    """The state of the file that a status is of."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def settled(state: State, looked_ns: int) -> bool:
    """Whether any later change shows in the state, which was looked up at a time (ns since 1970).

    A file that has just changed may change once more within the same tick of its clock.
    """
    return max(state[1], state[2]) + TICK_NS < looked_ns
