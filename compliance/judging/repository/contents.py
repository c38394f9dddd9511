"""The one place that reads the files of a submission other than logs and descriptions.

Whoever opens a file first has every scanner look at its beginning. Findings are kept, contents are
not: memory grows by neither the size nor the number of the files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from podium.compliance.judging.inputs.listing import Item
from podium.compliance.judging.inputs.source_files import read_plain
from podium.compliance.judging.repository.local_paths import LocalPaths, local_paths, may_hold_paths
from podium.compliance.judging.repository.secrets import (
    HEAD,
    Search,
    Secrets,
    is_log,
    read_head,
    secrets_in,
    takes,
)

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


class FileReader:
    """Reads each file of one submission once, for every scanner."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or _without_memory
        self._found: dict[str, Contents] = {}

    def beginning(self, item: Item) -> bytes | None:
        """The first `HEAD` bytes of a regular file; None where it cannot be read.

        The scanners look at them, so that `contents` does not read the file again.
        """
        scans = _scans_of(item)
        data = b""

        def examine(read: bytes) -> Contents:
            nonlocal data
            data = read
            return scans.examine(read)

        if scans.most:
            self._found[item.path] = self._memory(item, scans.most, examine)
        # The memory may know the file, and a log's scanner reads less of it
        return data if data and len(data) >= min(item.size, HEAD) else _beginning(item)

    def contents(self, item: Item, search: Search) -> Contents:
        """What a regular file holds, as far as the search may still read it."""
        scans = _scans_of(item)
        fits = scans.searched <= search.left
        if search.affords(item.size):
            known = self._found.pop(item.path, None)
            found = scans.look_at(item, self._memory) if known is None else known
        else:
            # The search goes on: a smaller file may still fit
            scans = scans._replace(scripted=False, searched=scans.searched if fits else 0)
            found = scans.look_at(item, _without_memory)
        if not found.pointer:
            search.left -= scans.searched
            search.skipped += not fits
        return found


def is_pointer(item: Item) -> bool:
    """Whether a regular file is a pointer of git LFS."""
    small = 0 < item.size < LARGEST_POINTER
    return small and read_head(item.full, len(POINTER)) == POINTER


class _Scans(NamedTuple):
    """Which scanners look at a file: for secrets, in so many bytes of it."""

    small: bool
    scripted: bool
    searched: int
    log: bool

    @property
    def most(self) -> int:
        """The bytes that they look at."""
        return HEAD if self.scripted or self.small else self.searched

    def look_at(self, item: Item, memory: Memory) -> Contents:
        """What they find in a file, or what the memory knows of it."""
        return memory(item, self.most, self.examine) if self.most else NOTHING

    def examine(self, data: bytes) -> Contents:
        """What they find in the beginning of a file."""
        if self.small and data.startswith(POINTER):
            return Contents(pointer=True)
        secrets = secrets_in(data, is_log=self.log) if self.searched else ()
        return Contents(False, secrets or (), local_paths(data) if self.scripted else None)


def _scans_of(item: Item) -> _Scans:
    return _Scans(
        small=0 < item.size < LARGEST_POINTER,
        scripted=may_hold_paths(item.path),
        searched=takes(item.name, item.size),
        log=is_log(item.name),
    )


def _without_memory(item: Item, most: int, examine: Examine) -> Contents:
    return examine(read_head(item.full, most))


def _beginning(item: Item) -> bytes | None:
    try:
        return read_plain(item.full, HEAD)
    except OSError:
        return None
