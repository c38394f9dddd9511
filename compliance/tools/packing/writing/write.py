"""Write the tree of a plan next to its target and swap it in at the end."""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import sync_names
from podium.compliance.files.durable import sync_tree
from podium.compliance.files.staging import Leftover, discard, leftovers, staging
from podium.compliance.tools.packing.planning.plan import PlannedFile
from podium.compliance.tools.packing.writing.copying import Copied, SourceChanged, copy_all

_NOREPLACE, _EXCHANGE = 1, 2
_AT_FDCWD = -100
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTTY, errno.EOPNOTSUPP)

OLD = "old"
"""Name of the old tree next to the new one between the two renames."""


class _Renameat2(Protocol):
    def __call__(self, a: int, b: bytes, c: int, d: bytes, e: int, /) -> int: ...


@cache
def _renameat2() -> _Renameat2 | None:
    """The system call, or None if the C library does not have it."""
    import ctypes

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )
    call: _Renameat2 = function
    return call


def _renamed(first: Path, second: Path, flags: int) -> bool:
    """Rename with these flags; False if the system does not support them."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), flags) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    # A file system reports an unknown flag as EINVAL
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


def put_in_place(
    new: Path, target: Path, notify: Callable[[str], None], *, exchange: bool = True
) -> Path | None:
    """Give a new tree the name of the target; returns the new path of the old tree, if any.

    If the system cannot exchange two names atomically, the old tree is renamed first. `recover`
    restores it if the second rename does not happen.
    """
    if not os.path.lexists(target):
        # A plain rename would replace an empty folder that was created in the meantime
        if not (exchange and _renamed(new, target, _NOREPLACE)):
            os.rename(new, target)
        return None
    # The only single step by which a folder with files replaces another
    if exchange and _renamed(new, target, _EXCHANGE):
        return new
    aside = new.parent / OLD
    os.rename(target, aside)
    notify("set aside")
    try:
        os.rename(new, target)
    except OSError:
        os.rename(aside, target)
        raise
    return aside


def recover(stage: Path, target: Path) -> bool:
    """Restore the old tree that an interrupted pair of renames has left in a stage."""
    # An existing target is the new tree, or the old tree after an earlier recovery
    if os.path.lexists(target) or not os.path.lexists(stage / OLD):
        return False
    os.rename(stage / OLD, target)
    return True


WAIT_SECONDS = 60.0
"""Time that one `podium pack` waits for another that writes to the same folder."""


def silent(step: str) -> None:
    """Ignore a step."""


@dataclass(slots=True)
class Stage:
    """A folder in which a tree is written; `tree` already has its final name."""

    folder: Path
    target: Path
    notify: Callable[[str], None] = silent
    copied: list[Copied] = field(default_factory=list)
    durable: bool = True

    @property
    def tree(self) -> Path:
        """The unfinished tree."""
        return self.folder / self.target.name

    def fill(self, entries: list[PlannedFile], jobs: int) -> None:
        """Copy all files; raises UsageFault for a file that has changed."""
        os.mkdir(self.tree)
        self.notify("began")
        try:
            self.copied = copy_all(entries, self.tree, jobs, self.notify)
        except SourceChanged as error:
            raise UsageFault(
                f"{error} changed while it was read; nothing was written: wait until the run that "
                "writes it has ended"
            ) from None
        self.notify("filled")

    def put(self, *, exchange: bool = True) -> None:
        """Swap in the tree; if durable, flush the tree before, and its name after."""
        if self.durable:
            sync_tree(self.folder)
        self.notify("before the swap")
        put_in_place(self.tree, self.target, self.notify, exchange=exchange)
        self.notify("after the swap")
        if self.durable:
            # Before the old tree is removed: on power loss, its removal could survive the swap
            sync_names(self.folder, self.target)
            sync_names(self.target.parent, self.target)


@contextlib.contextmanager
def stage(
    target: Path,
    workshop: Path,
    notify: Callable[[str], None] = silent,
    *,
    durable: bool = True,
) -> Iterator[Stage]:
    """A new folder in the workshop; it and leftovers of killed calls are removed at the end.

    An error of the file system becomes a UsageFault, which states that nothing has changed.
    """
    created = False
    try:
        clear(target, workshop)
        with staging(target, workshop) as folder:
            created = True
            notify("made a stage")
            try:
                yield Stage(folder, target, notify, durable=durable)
            finally:
                # Before anything is removed: the folder may hold the only copy of the old tree
                recover(folder, target)
    except OSError as error:
        raise UsageFault(_message(error, target)) from None
    finally:
        if created:
            notify("cleared")


def sync_standing(target: Path) -> None:
    """Flush a tree and its name to disk; raises UsageFault if this fails."""
    try:
        sync_tree(target)
    except OSError as error:
        raise UsageFault(f"{error.filename} cannot be flushed to disk: {error.strerror}") from None
    sync_names(target.parent, target)


def _message(error: OSError, target: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "no space left on the device"
    else:
        suffix = f" ({error.filename})" if isinstance(error.filename, str | Path) else ""
        reason = f"{(error.strerror or str(error)).lower()}{suffix}"
    return f"{target} cannot be written: {reason}; the old tree is unchanged"


def clear(target: Path, workshop: Path) -> list[Leftover]:
    """Clean up after a killed call: restore the old tree, remove unfinished trees.

    Only if the killed call certainly ran on this machine: a call on another may still be running.
    Returns the removed folders.
    """
    stale = [leftover for leftover in leftovers(target, workshop) if leftover.owner_gone]
    for leftover in stale:
        recover(leftover.folder, target)
        discard(leftover.folder)
    return stale


def clean(target: Path, workshop: Path) -> list[Leftover]:
    """Do only the work of `clear`, while no other call writes to the target's folder."""
    if not (target.parent.is_dir() and workshop.is_dir()):
        return []
    with locked(target.parent):
        return clear(target, workshop)


@contextlib.contextmanager
def locked(folder: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Lock a folder, so that two calls that write to it run one after the other.

    Without support for locks in the file system, nothing is locked. Raises UsageFault if the other
    call takes too long.
    """
    import fcntl

    # Locks the folder itself: no lock file remains, and a kill releases the lock
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end = time.monotonic() + seconds
    try:
        while True:
            try:
                # flock has no timeout, so it must not block
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    message = f"another `podium pack` is writing to {folder}; wait until it ends"
                    raise UsageFault(message) from None
                time.sleep(0.05)
            except OSError:
                break
        yield
    finally:
        os.close(handle)
