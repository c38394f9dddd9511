"""Bytes brought to files and files to the disk: the calls of the system that all writing goes by.

What `sync_…` has returned for is there after the machine has lost its power.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EROFS)
"""How file systems say that they bring nothing to a disk, or no folders."""

_AT_ONCE = 8
"""Files brought to the disk at a time: the file system writes one journal entry for several."""


def write_all(handle: int, data: bytes | bytearray | memoryview) -> None:
    """Write all bytes to a descriptor, in as many calls as it takes; OSError where it cannot."""
    left = memoryview(data)
    while left:
        count = os.write(handle, left)
        # A write of nothing would be tried for ever
        if count == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left = left[count:]


def write_new(path: str | Path, pieces: Iterator[bytes], *, executable: bool = False) -> int:
    """Write a new file, which must not exist; returns its bytes."""
    # Nothing that exists is ever opened, nor a link followed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle, size = os.open(path, flags, 0o777 if executable else 0o666), 0
    try:
        for data in pieces:
            write_all(handle, data)
            size += len(data)
    finally:
        os.close(handle)
    return size


class Output(io.RawIOBase):
    """A descriptor as a stream that writes every byte it is given; closing it closes that."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._handle

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write all of the bytes."""
        write_all(self._handle, data)
        return len(data)

    def close(self) -> None:
        """Close the descriptor, once."""
        if not self.closed:
            super().close()
            os.close(self._handle)


def sync(handle: int) -> None:
    """Bring a file or a folder to the disk, where the file system can; OSError where it fails."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def sync_path(path: str | Path) -> None:
    """Bring a file's content, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        sync(handle)
    except OSError as error:
        # `fsync` knows no name, and the user must be told one
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from None
    finally:
        os.close(handle)


def sync_tree(root: Path) -> None:
    """Bring all below a folder to the disk, and the folder's own list of names.

    After all is written, not after each file: most is on its way to the disk by then.
    """
    files, folders = [], []
    for folder, _, names in os.walk(root):
        folders.append(folder)
        paths = (os.path.join(folder, name) for name in names)
        # A link is a name only, and with its folder on the disk
        files += [path for path in paths if not os.path.islink(path)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(sync_path, files))
    for folder in reversed(folders):
        sync_path(folder)


def make_folders(path: Path, *, durable: bool) -> None:
    """Make a folder and those above it that are missing."""
    path = path.absolute()
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    if durable:
        for each in reversed(missing):
            sync_path(each.parent)
