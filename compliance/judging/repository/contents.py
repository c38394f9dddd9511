"""What the repository's rules ask of a file's content, as a value that can be kept beside it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from podium.compliance.judging.inputs.listing import Item
from podium.compliance.judging.repository.local_paths import LocalPaths, local_paths, may_hold_paths
from podium.compliance.judging.repository.secrets import HEAD, Search, Secrets, is_log, secrets_in

LARGEST_POINTER = 1024
"""Bytes: the specification of git LFS keeps a pointer below them."""

POINTER = b"version https://git-lfs.github.com/spec/"


class Contents(msgspec.Struct, frozen=True):
    """Whether a file is a pointer of git LFS; else its secrets, and its paths of one machine."""

    pointer: bool = False
    secrets: Secrets = ()
    local: LocalPaths | None = None


NOTHING = Contents()

Examine = Callable[[bytes], Contents]

Memory = Callable[[Item, int, Examine], Contents]
"""Gives what a file holds: what is known of it, else what is made of its first so many bytes."""


def recalled(item: Item, search: Search, memory: Memory) -> Contents:
    """What a file holds that the search affords; what it costs the search is spent either way."""
    searched = search.takes(item.full, item.size)
    scripted = may_hold_paths(item.path)
    small = item.size < LARGEST_POINTER
    if not (searched or scripted or small):
        return NOTHING

    def examine(data: bytes) -> Contents:
        if small and data.startswith(POINTER):
            return Contents(pointer=True)
        found = secrets_in(data, is_log=is_log(item.name)) if searched else ()
        return Contents(False, found or (), local_paths(data) if scripted else None)

    held = memory(item, HEAD if scripted or small else searched, examine)
    search.left -= 0 if held.pointer else searched
    return held
