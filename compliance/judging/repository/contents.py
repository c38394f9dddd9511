"""The only module that reads files of a submission other than logs and descriptions.

The first time that a file is opened, every scanner looks at its beginning. Findings are kept, but
contents are not: memory does not grow with the size or the number of the files.
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
"""Bytes: according to the specification of Git LFS, a pointer is smaller."""

POINTER = b"version https://git-lfs.github.com/spec/"


class Contents(msgspec.Struct, frozen=True):
    """Whether a file is a Git LFS pointer; otherwise its secrets and its hard-coded paths."""

    pointer: bool = False
    secrets: Secrets = ()
    local: LocalPaths | None = None


NOTHING = Contents()

Examine = Callable[[bytes], Contents]

Memory = Callable[[Item, int, Examine], Contents]
"""Returns the known contents of a file, or examines the given number of its first bytes."""


def without_memory(item: Item, limit: int, examine: Examine) -> Contents:
    """Examine the beginning of a file."""
    return examine(read_head(item.full, limit))


class FileReader(msgspec.Struct):
    """Reads each file of one submission once, for every scanner."""

    memory: Memory = without_memory
    found: dict[str, Contents] = {}

    def beginning(self, item: Item) -> bytes | None:
        """The first `HEAD` bytes of a regular file; None if it cannot be read.

        The scanners look at them, so that `contents` does not read the file again.
        """
        scans = _scans_of(item)
        data = b""

        def examine(head: bytes) -> Contents:
            nonlocal data
            data = head
            return scans.examine(head)

        if scans.most:
            self.found[item.path] = self.memory(item, scans.most, examine)
        # The memory may have the file; and the scanner of a log reads less of it
        return data if data and len(data) >= min(item.size, HEAD) else _beginning(item)

    def contents(self, item: Item, search: Search) -> Contents:
        """The contents of a regular file, within the limit of the search."""
        scans, memory, contents = _scans_of(item), self.memory, None
        fits = scans.searched <= search.left
        if 0 < min(item.size, HEAD) <= search.left:
            contents = self.found.pop(item.path, None)
        else:
            # The search continues: a smaller file may still fit
            memory = without_memory
            scans = scans._replace(scripted=False, searched=scans.searched if fits else 0)
        if contents is None:
            contents = memory(item, scans.most, scans.examine) if scans.most else NOTHING
        if not contents.pointer:
            search.left -= scans.searched
            search.skipped += not fits
        return contents


def is_pointer(item: Item) -> bool:
    """Whether a regular file is a Git LFS pointer."""
    is_small = 0 < item.size < LARGEST_POINTER
    return is_small and read_head(item.full, len(POINTER)) == POINTER


class _Scans(NamedTuple):
    """The scanners of a file, and how many bytes the search for secrets reads."""

    small: bool
    scripted: bool
    searched: int
    log: bool

    @property
    def most(self) -> int:
        """The number of bytes that the scanners need."""
        return HEAD if self.scripted or self.small else self.searched

    def examine(self, data: bytes) -> Contents:
        """The scanners' results for the beginning of a file."""
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


def _beginning(item: Item) -> bytes | None:
    try:
        return read_plain(item.full, HEAD)
    except OSError:
        return None
