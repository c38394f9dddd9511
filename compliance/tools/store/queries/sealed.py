"""Copies of a store's Parquet files for queries: in memory, protected from writes.

DuckDB has no setting that lets a query read a file but not write to it: `COPY ... TO` can overwrite
every file that DuckDB can open. It therefore never gets the path of a store's file.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.source_files import open_plain

_FOLDER = "/proc/self/fd"
_COPY = re.compile(rf"{_FOLDER}/(\d+)")

_paths: dict[str, str] = {}
"""The files that have been copied, by the descriptors of their copies."""

CAN_SEAL = sys.platform == "linux" and os.path.isdir(_FOLDER)
"""Whether this system has files in memory that the kernel protects from changes."""

_LONGEST_NAME = 249
"""The length of the name of a file in memory.

The kernel shows it as `/memfd:NAME (deleted)`, and DuckDB allows that path, too. With the longest
possible name, no disk can have such a file; otherwise a query with write access to `/` could create
it.
"""

_PIECE = 1 << 20
"""The number of bytes that are copied at a time."""

_MARK = b"PAR1"
"""The first and last bytes of a Parquet file."""


def readable(path: Path) -> str:
    """The path from which DuckDB reads a Parquet file; raises UsageFault for a damaged file.

    Without sealed files, it is the path of the store's own file: `connect` copies its rows into
    tables before the first query, and then disallows the path.
    """
    try:
        if path.parent.is_symlink() or path.is_symlink():
            raise _refused(path, "is a link, which is not followed")
        with open_plain(path) as stream:
            if not _is_whole(stream.fileno()):
                raise _refused(path, "is damaged: it is not a whole Parquet file")
            status = os.fstat(stream.fileno())
            if not CAN_SEAL:
                return str(path)
            state = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            return f"{_FOLDER}/{_sealed(str(path), state)}"
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from None


def as_stored(text: str) -> str:
    """A text from DuckDB in which the paths of the store's files replace those of the copies."""
    return _COPY.sub(lambda match: _paths.get(match[1], match[0]), text)


def _refused(path: Path, fault: str) -> UsageFault:
    return UsageFault(f"{path} {fault}; build its round again: podium results build --force")


def _is_whole(handle: int) -> bool:
    """Whether a file begins and ends like a Parquet file."""
    size = os.fstat(handle).st_size
    head, tail = os.pread(handle, len(_MARK), 0), os.pread(handle, 8, max(0, size - 8))
    length = int.from_bytes(tail[:4], "little")
    return head == _MARK and tail[4:] == _MARK and length + 12 <= size


@cache
def _sealed(path: str, _state: tuple[int, ...]) -> int:
    """A sealed copy of a file, by the file's path and state; raises OSError.

    It stays open as long as the process: relations and cursors outlive the connection that made
    them, and a descriptor that is free again could be reused for another file.
    """
    import fcntl

    with open_plain(path) as source, ExitStack() as undo:
        name = f"podium-{len(_paths)}-".ljust(_LONGEST_NAME, "x")
        copy = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        undo.callback(os.close, copy)
        with open(copy, "wb", closefd=False) as target:
            shutil.copyfileobj(source, target, _PIECE)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(copy, fcntl.F_ADD_SEALS, seals)
        undo.pop_all()
    _paths[str(copy)] = path
    return copy
