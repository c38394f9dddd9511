"""Write members as a tar stream that depends only on names, contents and the executable bit."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterable, Iterator
from typing import Protocol

from podium.compliance.text.terminal import clean
from podium.compliance.tools.bundling.format.paths import MemberKind
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.compliance.tools.bundling.format.tree import TreeEntry

CHUNK = 1 << 18
"""Bytes read and written at a time."""

MOMENT = 315532800
"""1980-01-01, the time stamp of every member: the earliest time that zip supports."""

_TYPES = {
    MemberKind.FILE: tarfile.REGTYPE,
    MemberKind.FOLDER: tarfile.DIRTYPE,
    MemberKind.LINK: tarfile.SYMTYPE,
}


class Writer(Protocol):
    """A target for bytes."""

    def write(self, data: bytes, /) -> int:
        """Write all of the bytes."""


def write_archive(entries: Iterable[TreeEntry], out: Writer) -> None:
    """Write all members and the end mark; raises Refused if a file changes while it is read."""
    for entry in entries:
        out.write(_header(entry))
        if entry.kind is MemberKind.FILE:
            for data in _content(entry):
                out.write(data)
            out.write(b"\0" * (-entry.size % tarfile.BLOCKSIZE))
    out.write(b"\0" * 2 * tarfile.BLOCKSIZE)


def _header(entry: TreeEntry) -> bytes:
    info = tarfile.TarInfo(entry.name)
    info.type = _TYPES[entry.kind]
    info.size = entry.size
    info.linkname = entry.target
    # Owner and group stay empty, so that the archive names no account of the packing machine
    info.mtime = MOMENT
    all_bits = entry.kind is MemberKind.FOLDER or entry.executable
    # Fixed modes: the umask of the packing machine must not change the bytes
    info.mode = 0o777 if entry.kind is MemberKind.LINK else 0o755 if all_bits else 0o644
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _content(entry: TreeEntry) -> Iterator[bytes]:
    """The content of a file; refuses a name that has become a link or a pipe."""
    # Opening a pipe would block; Windows has neither flag
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    remaining = entry.size
    try:
        handle = os.open(entry.path, flags)
        try:
            _check_same(entry, handle)
            # The header states the size: exactly this number of bytes must follow
            while remaining and (data := os.read(handle, min(CHUNK, remaining))):
                remaining -= len(data)
                yield data
            # Again: the file may have changed while it was read
            _check_same(entry, handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise Refused(f"{clean(entry.name)}: cannot be read: {error.strerror}") from None
    if remaining:
        raise Refused(f"{clean(entry.name)}: the file changed while it was read")


def _check_same(entry: TreeEntry, handle: int) -> None:
    status = os.fstat(handle)
    same = status.st_size == entry.size and status.st_mtime_ns == entry.changed_ns
    if not (same and stat.S_ISREG(status.st_mode)):
        raise Refused(f"{clean(entry.name)}: the file changed while it was read")
