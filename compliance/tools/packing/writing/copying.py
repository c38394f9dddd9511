"""Copies bit for bit, hashed on the way; a source that changes meanwhile is noticed."""

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
"""Bytes at a time: they stay in the processor's cache between copying and hashing."""

_FICLONE = 0x40049409
"""Linux: share the blocks of another file until one of the two is written to."""


# The two files cannot be copied within the kernel; other errors are of the disk
_NO_RANGES = (errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM)


class SourceChanged(Exception):
    """A source has changed since the plan was made."""


@dataclass(frozen=True, slots=True)
class Copied:
    """One file of the tree, written; `cloned` where it shares the source's blocks."""

    entry: PlannedFile
    sha256: str
    cloned: bool = False


def copy_all(
    entries: Sequence[PlannedFile], root: Path, jobs: int, notify: Callable[[str], None]
) -> list[Copied]:
    """Copy the entries of a plan below a folder, several at a time; `notify` gets each path.

    Raises SourceChanged or OSError for the first that fails, once no copy is under way any more.
    """
    for folder in sorted({os.path.dirname(entry.path) for entry in entries}):
        os.makedirs(root / folder, exist_ok=True)
    # The largest first: the last copy under way is then a small one.
    order = sorted(entries, key=lambda entry: -entry.source.size)
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, 8))) as pool:
        copies = [pool.submit(_copy, entry, root, notify) for entry in order]
        _finish(copies)
    done = {one.entry.path: one for one in (copy.result() for copy in copies)}
    return [done[entry.path] for entry in entries]


def _finish(copies: list[Future[Copied]]) -> None:
    done, _ = wait(copies, return_when=FIRST_EXCEPTION)
    failed = next((error for copy in done if (error := copy.exception())), None)
    if failed is not None:
        # Those under way end by themselves: leaving the pool waits for them
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
    """Copy one file to a new path; its SHA-256, and whether blocks are shared."""
    # The file may have become a pipe, whose opening would wait for a writer
    with _opened(source.path, os.O_RDONLY | os.O_NONBLOCK) as reading:
        # Still the file that was planned; and, after copying, not written to meanwhile
        _check(source, os.fstat(reading))
        mode = 0o777 if source.executable else 0o666
        # For reading too: the hash is of what the copy holds
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
    """Share the blocks of a file where the file system can; else nothing happens."""
    try:
        import fcntl

        fcntl.ioctl(writing, _FICLONE, reading)
    except (ImportError, OSError):
        return False
    return True


def _through(reading: int, writing: int) -> tuple[str, int]:
    """Copy a file to its end and hash what was written; (SHA-256, bytes)."""
    digest, size = hashlib.sha256(), 0
    block = bytearray(BLOCK)
    view, in_kernel = memoryview(block), True
    while True:
        count = _in_kernel(reading, writing, size) if in_kernel else None
        if count is None:
            in_kernel = False
            # By position, as the kernel's copy has moved no offset of the source
            part = view[: os.preadv(reading, [view], size)]
            count = len(part)
            while part:
                part = part[_write(writing, part) :]
            digest.update(view[:count])
        else:
            # What lies in the copy is hashed, not what the source may have become meanwhile.
            _fill(writing, view[:count], size)
            digest.update(view[:count])
        if not count:
            return digest.hexdigest(), size
        size += count


def _in_kernel(reading: int, writing: int, at: int) -> int | None:
    """Copy a block without fetching it; None where the two file systems cannot."""
    try:
        count = os.copy_file_range(reading, writing, BLOCK, at)
    except (AttributeError, OSError) as error:
        number = getattr(error, "errno", errno.ENOSYS)
        if number in _NO_RANGES:
            return None
        raise
    # Some kernels copy nothing, and say so, from files that are made as they are read.
    return None if count == 0 and at == 0 else count


def _fill(handle: int, view: memoryview, at: int) -> None:
    while view:
        count = os.preadv(handle, [view], at)
        if count == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        view, at = view[count:], at + count


def _hashed(handle: int) -> tuple[str, int]:
    """The SHA-256 of a file from its beginning, and its size."""
    digest, size = hashlib.sha256(), 0
    view = memoryview(bytearray(BLOCK))
    while count := os.preadv(handle, [view], size):
        digest.update(view[:count])
        size += count
    return digest.hexdigest(), size


def _write(writing: int, part: memoryview) -> int:
    count = os.write(writing, part)
    # A write of nothing would be tried for ever
    if count == 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return count


def hashed_in_place(entry: PlannedFile, path: Path) -> Copied:
    """The file of an entry that exists already, hashed."""
    if entry.source.link is not None:
        return Copied(entry, _hash_link(entry.source.link))
    with _opened(path, os.O_RDONLY | os.O_NONBLOCK) as reading:
        return Copied(entry, _hashed(reading)[0])


def _hash_link(target: str) -> str:
    return hashlib.sha256(os.fsencode(target)).hexdigest()
