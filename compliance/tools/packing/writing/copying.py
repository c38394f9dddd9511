"""Copy files bit for bit and hash them; detect a source that changes in the meantime."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.tools.packing.planning.plan import PlannedFile
from podium.compliance.tools.packing.planning.sources import Source, stamp_of

BLOCK = 1 << 18
"""Bytes per step: a block stays in the processor cache between copying and hashing."""

_FICLONE = 0x40049409
"""On Linux, share the blocks of another file until one of the two files is written."""


# The kernel cannot copy between the two files; other errors come from the disk
_NO_RANGES = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM)


class SourceChanged(Exception):
    """A source has changed since planning."""


@dataclass(frozen=True, slots=True)
class Copied:
    """One written file of the tree; `cloned` if it shares the blocks of its source."""

    entry: PlannedFile
    sha256: str
    cloned: bool = False


def copy_all(
    entries: Sequence[PlannedFile], root: Path, jobs: int, notify: Callable[[str], None]
) -> list[Copied]:
    """Copy the entries of a plan below a folder, several at a time; `notify` gets each path.

    Raises SourceChanged or OSError for the first failure, after all running copies have ended.
    """
    for folder in sorted({os.path.dirname(entry.path) for entry in entries}):
        os.makedirs(root / folder, exist_ok=True)
    # The largest file first, so that the last running copy is a small one
    order = sorted(entries, key=lambda entry: -entry.source.size)
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, 8))) as pool:
        copies = [pool.submit(_copy, entry, root, notify) for entry in order]
        _finish(copies)
    copied_by_path = {copied.entry.path: copied for copied in (copy.result() for copy in copies)}
    return [copied_by_path[entry.path] for entry in entries]


def _finish(copies: list[Future[Copied]]) -> None:
    finished, _ = wait(copies, return_when=FIRST_EXCEPTION)
    failed = next((error for copy in finished if (error := copy.exception())), None)
    if failed is not None:
        # Running copies end by themselves: leaving the pool waits for them
        for copy in copies:
            copy.cancel()
        raise failed


def _copy(entry: PlannedFile, root: Path, notify: Callable[[str], None]) -> Copied:
    to, source = root / entry.path, entry.source
    if source.link is not None:
        _check(source, os.lstat(source.path))
        os.symlink(source.link, to)
        copied = Copied(entry, _hash_link(source.link))
    else:
        digest, cloned = copy_file(source, to)
        copied = Copied(entry, digest, cloned)
    notify(f"copied {entry.path}")
    return copied


def copy_file(source: Source, to: Path) -> tuple[str, bool]:
    """Copy one file to a new path; returns its SHA-256, and whether blocks are shared."""
    # The file may have become a pipe, and opening a pipe blocks
    with _opened(source.path, os.O_RDONLY | os.O_NONBLOCK) as reading:
        # Before copying: still the planned file. After copying: not changed in the meantime
        _check(source, os.fstat(reading))
        mode = 0o777 if source.executable else 0o666
        # For reading too: the hash is of the content of the copy
        with _opened(to, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode) as writing:
            cloned = _clone(reading, writing)
            digest, size = _hashed(writing) if cloned else _through(reading, writing)
        _check(source, os.fstat(reading))
        if size != source.size:
            raise SourceChanged(source.display_path)
    return digest, cloned


@contextlib.contextmanager
def _opened(path: str | Path, flags: int, mode: int = 0o666) -> Iterator[int]:
    handle = os.open(path, flags | os.O_CLOEXEC, mode)
    try:
        yield handle
    finally:
        os.close(handle)


def _check(source: Source, status: os.stat_result) -> None:
    if stamp_of(status) != source.stamp:
        raise SourceChanged(source.display_path)


def _clone(reading: int, writing: int) -> bool:
    """Share the blocks of a file if the file system supports it; returns whether it does."""
    try:
        import fcntl

        fcntl.ioctl(writing, _FICLONE, reading)
    except (ImportError, OSError):
        return False
    return True


def _through(reading: int, writing: int) -> tuple[str, int]:
    """Copy a file to its end and hash the copy; returns (SHA-256, bytes)."""
    digest, size = hashlib.sha256(), 0
    block = bytearray(BLOCK)
    view, in_kernel = memoryview(block), True
    while True:
        count = _in_kernel(reading, writing, size) if in_kernel else None
        if count is None:
            in_kernel = False
            # By position, because the kernel's copy does not move the offset of the source
            part = view[: os.preadv(reading, [view], size)]
            count = len(part)
            while part:
                part = part[_write(writing, part) :]
            digest.update(view[:count])
        else:
            # Hashes the copy, because the source may have changed in the meantime
            _fill(writing, view[:count], size)
            digest.update(view[:count])
        if not count:
            return digest.hexdigest(), size
        size += count


def _in_kernel(reading: int, writing: int, offset: int) -> int | None:
    """Copy a block within the kernel; None if the two file systems do not support it."""
    try:
        count = os.copy_file_range(reading, writing, BLOCK, offset)
    except (AttributeError, OSError) as error:
        number = getattr(error, "errno", errno.ENOSYS)
        if number in _NO_RANGES:
            return None
        raise
    # Some kernels return 0 for files that are generated on reading, such as those in /proc
    return None if count == 0 and offset == 0 else count


def _fill(handle: int, view: memoryview, offset: int) -> None:
    while view:
        count = os.preadv(handle, [view], offset)
        if count == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        view, offset = view[count:], offset + count


def _hashed(handle: int) -> tuple[str, int]:
    """The SHA-256 of a file, and its size."""
    digest, size = hashlib.sha256(), 0
    view = memoryview(bytearray(BLOCK))
    while count := os.preadv(handle, [view], size):
        digest.update(view[:count])
        size += count
    return digest.hexdigest(), size


def _write(writing: int, part: memoryview) -> int:
    count = os.write(writing, part)
    # A write of 0 bytes would be repeated forever
    if count == 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return count


def hashed_in_place(entry: PlannedFile, path: Path) -> Copied:
    """The existing file of an entry, hashed."""
    if entry.source.link is not None:
        return Copied(entry, _hash_link(entry.source.link))
    with _opened(path, os.O_RDONLY | os.O_NONBLOCK) as reading:
        return Copied(entry, _hashed(reading)[0])


def _hash_link(target: str) -> str:
    return hashlib.sha256(os.fsencode(target)).hexdigest()
