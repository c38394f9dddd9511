"""The state of a file, which identifies it without reading it."""

from __future__ import annotations

import os

State = tuple[int, int, int, int]
"""Bytes, mtime and ctime (ns), inode: every write changes at least one of them."""

TICK_NS = 2_000_000_000
"""The longest step of file times on any file system, in nanoseconds."""


def state_of(status: os.stat_result) -> State:
    """The state of a file from its status."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def settled(state: State, looked_ns: int) -> bool:
    """Whether any later change shows in the state, which was read at `looked_ns` (since 1970).

    A file that has just changed may change again within the same tick of its clock.
    """
    return max(state[1], state[2]) + TICK_NS < looked_ns
