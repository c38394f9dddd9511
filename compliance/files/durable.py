"""The system calls of all writing: bytes to files, and files to disk.

After `sync_…` has returned, the data survives a power failure.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EROFS)
"""Error numbers of file systems that cannot sync, or cannot sync folders."""

_AT_ONCE = 8
"""Files synced at a time: the file system writes one journal entry for several."""


def write_all(handle: int, data: bytes | bytearray | memoryview) -> None:
    """Write all bytes to a descriptor, in as many calls as needed; raises OSError."""
    remaining = memoryview(data)
    while remaining:
        count = os.write(handle, remaining)
        # A write of 0 bytes would be repeated forever
        if count == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        remaining = remaining[count:]


def write_new(path: str | Path, pieces: Iterator[bytes], *, executable: bool = False) -> int:
    """Write a new file, which must not exist; return the number of bytes."""
    # Opens no existing file and follows no link
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
    """A descriptor as a stream that writes all bytes; closing it closes the descriptor."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def writable(self) -> bool:
        """Always true."""
        return True

    def fileno(self) -> int:
        """The descriptor."""
        return self._handle

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write all bytes."""
        write_all(self._handle, data)
        return len(data)

    def close(self) -> None:
        """Close the descriptor, once."""
        if not self.closed:
            super().close()
            os.close(self._handle)


def sync(handle: int) -> None:
    """Sync a file or a folder, if the file system supports it; raises OSError."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def sync_path(path: str | Path) -> None:
    """Sync the content of a file, or the names in a folder."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    try:
        sync(handle)
    except OSError as error:
        # The error of `fsync` has no file name, which the user needs
        raise OSError(error.errno, os.strerror(error.errno or 0), str(path)) from None
    finally:
        os.close(handle)


def sync_tree(root: Path) -> None:
    """Sync everything below a folder, and the folder's list of names.

    Called after all files are written, because most data is on its way to disk by then.
    """
    files, folders = [], []
    for folder, _, names in os.walk(root):
        folders.append(folder)
        paths = (os.path.join(folder, name) for name in names)
        # A link is only a name, which is synced with its folder
        files += [path for path in paths if not os.path.islink(path)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(sync_path, files))
    for folder in reversed(folders):
        sync_path(folder)


def make_folders(path: Path, *, durable: bool) -> None:
    """Make a folder and its missing parents."""
    path = path.absolute()
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    if durable:
        for folder in reversed(missing):
            sync_path(folder.parent)
