"""The tree of a plan, written next to its target and swapped in at the end."""

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
"""Name that the old tree has beside the new one while a pair of renames is under way."""


class _Renameat2(Protocol):
    def __call__(self, a: int, b: bytes, c: int, d: bytes, e: int, /) -> int: ...


@cache
def _renameat2() -> _Renameat2 | None:
    """The system call, where the C library has it."""
    import ctypes

    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    found.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_uint,
    )
    call: _Renameat2 = found
    return call


def _renamed(first: Path, second: Path, flags: int) -> bool:
    """Whether the system renamed with these flags; False where it knows no such thing."""
    call = _renameat2()
    if call is None:
        return False
    if call(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), flags) == 0:
        return True
    import ctypes

    number = ctypes.get_errno()
    # EINVAL is how a file system says that it does not know a flag
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(second))


def put_in_place(
    new: Path, target: Path, notify: Callable[[str], None], *, exchange: bool = True
) -> Path | None:
    """Give a new tree the target's name; returns where the old tree is now, if there was one.

    Where the system cannot exchange two names at once, the old tree is set aside first: `recover`
    puts it back if the second rename never came.
    """
    if not os.path.lexists(target):
        # A plain rename would replace an empty folder that has appeared meanwhile
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
    """Put the old tree back that a killed pair of renames has left in a stage."""
    # A target that is there is the new tree, or the old one put back already
    if os.path.lexists(target) or not os.path.lexists(stage / OLD):
        return False
    os.rename(stage / OLD, target)
    return True


WAIT_SECONDS = 60.0
"""How long one `podium pack` waits for another that writes to the same folder."""


def silent(step: str) -> None:
    """Hear of a step and do nothing."""


@dataclass(slots=True)
class Stage:
    """A folder in which a tree is written; `tree` has its final name already."""

    folder: Path
    target: Path
    notify: Callable[[str], None] = silent
    copied: list[Copied] = field(default_factory=list)
    durable: bool = True

    @property
    def tree(self) -> Path:
        """The tree that is being written."""
        return self.folder / self.target.name

    def fill(self, entries: list[PlannedFile], jobs: int) -> None:
        """Copy all files; raises UsageFault where one cannot be, or has changed."""
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
        """Swap the tree in; where it is durable, it is on the disk before, and its name after."""
        if self.durable:
            sync_tree(self.folder)
        self.notify("before the swap")
        put_in_place(self.tree, self.target, self.notify, exchange=exchange)
        self.notify("after the swap")
        if self.durable:
            # Before the old tree is removed: with the power its removal could outlast the swap
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
    """A new folder in the workshop, removed at the end, with what a killed call left there.

    Errors of the file system become a UsageFault that says that nothing has changed.
    """
    made = False
    try:
        clear(target, workshop)
        with staging(target, workshop) as folder:
            made = True
            notify("made a stage")
            try:
                yield Stage(folder, target, notify, durable=durable)
            finally:
                # Before anything is removed: the folder may hold the only copy of the old tree
                recover(folder, target)
    except OSError as error:
        raise UsageFault(_told(error, target)) from None
    finally:
        if made:
            notify("cleared")


def sync_standing(target: Path) -> None:
    """Bring a tree that has its name to the disk; raises UsageFault where that fails."""
    try:
        sync_tree(target)
    except OSError as error:
        raise UsageFault(
            f"{error.filename} cannot be brought to the disk: {error.strerror}"
        ) from None
    sync_names(target.parent, target)


def _told(error: OSError, target: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "there is no space left to write it"
    else:
        where = f" ({error.filename})" if isinstance(error.filename, str | Path) else ""
        reason = f"{(error.strerror or str(error)).lower()}{where}"
    return f"{target} cannot be written: {reason}; the old tree is unchanged"


def clear(target: Path, workshop: Path) -> list[Leftover]:
    """Clean up after a killed call: restore a tree that was set aside, remove unfinished ones.

    Only where the killed call certainly ran on this machine: another one may still be at work.
    Returns what was removed.
    """
    found = [each for each in leftovers(target, workshop) if each.owner_gone]
    for each in found:
        recover(each.folder, target)
        discard(each.folder)
    return found


def clean(target: Path, workshop: Path) -> list[Leftover]:
    """Do what `clear` does, and nothing else, while no other call writes to the target's folder."""
    if not (target.parent.is_dir() and workshop.is_dir()):
        return []
    with locked(target.parent):
        return clear(target, workshop)


@contextlib.contextmanager
def locked(folder: Path, seconds: float = WAIT_SECONDS) -> Iterator[None]:
    """Lock a folder: two calls that write to it run one after the other.

    Where the file system knows no locks, there is none. Raises UsageFault where the other takes
    too long.
    """
    import fcntl

    # The folder itself is locked: no lock file stays behind, and a kill frees it
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    end = time.monotonic() + seconds
    try:
        while True:
            try:
                # flock has no limit of time, so it does not wait here
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    message = f"another podium pack is writing to {folder}; wait until it ends"
                    raise UsageFault(message) from None
                time.sleep(0.05)
            except OSError:
                break
        yield
    finally:
        os.close(handle)
