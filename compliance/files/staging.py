"""Folders in which files are made before they are moved, and leftovers of killed processes.

A folder belongs to podium only if its name matches and a marker in it names its target. A folder
with at most an empty marker, whose process ended too early, is recognized by its name alone.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import NamedTuple

PREFIX = ".podium-stage."
MARKER = ".podium-stage"
"""The file in such a folder with the path of its target."""

_RANDOM = 8
"""Characters that tempfile adds to a name."""
_NAME = re.compile(re.escape(PREFIX) + rf".*\.[a-z0-9_]{{{_RANDOM}}}", re.DOTALL)
_SETTLED = 10.0
"""Seconds after which a folder without a marker is abandoned: markers take microseconds."""
_LONGEST_PATH = 1 << 16
"""Maximum bytes of the path in a marker."""
_LONGEST = 40
"""Characters of the target's name in the folder's name, because file names are limited."""


_DRAFT = b"draft"
"""The third field of the marker in a folder that contains only a draft."""


class Leftover(NamedTuple):
    """A folder that no process of this machine uses: its size in bytes, its age in seconds.

    `owner_gone`: its process ran on this machine and has certainly ended. Otherwise the folder may
    be in use on another machine, or on a file system without locks.
    `disposable`: the owner is gone, and the folder contains only an unfinished draft. Otherwise it
    may contain the only copy of a file.
    """

    folder: Path
    size: int
    age: float
    owner_gone: bool = False
    disposable: bool = False


@contextmanager
def staging(target: Path, within: Path | None = None, *, draft: bool = False) -> Iterator[Path]:
    """A new folder next to `target`, or in `within`, removed at the end; raises OSError.

    The caller moves its result to `target` by a rename, which is atomic only within one file
    system. `draft`: nothing else is ever moved into the folder.
    """
    parent = within or target.absolute().parent
    folder, marker = Path(tempfile.mkdtemp(dir=parent, prefix=_prefix(target))), -1
    try:
        marker = os.open(folder / MARKER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Locked until this process ends in any way
        _lock(marker)
        os.write(marker, b"\0".join((_path(target), _host(), _DRAFT if draft else b"")))
        yield folder
    finally:
        discard(folder)
        if marker >= 0:
            os.close(marker)
        if os.path.lexists(folder):
            # The process may have run out of handles
            discard(folder)


def discard(folder: Path) -> None:
    """Remove a folder as far as possible; raises nothing."""
    # A system call that failed once may succeed now
    for _ in range(2):
        # A kill may leave a part of the folder, which its marker identifies: it is removed last
        if folder.is_symlink() or not _emptied(folder, kept_name=MARKER):
            continue
        with suppress(OSError):
            (folder / MARKER).unlink(missing_ok=True)
            os.rmdir(folder)
            return
    # An empty folder is removed without a handle
    with suppress(OSError):
        os.rmdir(folder)


def _emptied(folder: Path | str, *, kept_name: str = "") -> bool:
    """Remove the content of a folder, except one name; return whether nothing else is left.

    Only one handle is open at a time, because the process may have run out of handles.
    """
    remains = False
    try:
        with os.scandir(folder) as entries:
            children = [entry for entry in entries if entry.name != kept_name]
    except OSError:
        return False
    for child in children:
        try:
            if not child.is_dir(follow_symlinks=False):
                os.unlink(child.path)
            elif _emptied(child.path):
                os.rmdir(child.path)
            else:
                remains = True
        except OSError:
            remains = True
    return not remains


def leftovers(
    target: Path, within: Path | None = None, *, whatever: bool = False
) -> list[Leftover]:
    """The folders that calls for this target have left, by name.

    `whatever`: include the folders of calls for other targets in the same folder.
    """
    parent = within or target.absolute().parent
    try:
        names = sorted(name for name in os.listdir(parent) if _NAME.fullmatch(name))
    except OSError:
        return []
    states = ((Path(parent, name), _state(Path(parent, name), target, whatever)) for name in names)
    return [_measured(folder, state) for folder, state in states if state is not _State.IN_USE]


def remove_disposable(
    target: Path, within: Path | None = None, *, whatever: bool = False
) -> list[Leftover]:
    """Remove the disposable leftovers of a target; return the remaining leftovers."""
    remaining = []
    for leftover in leftovers(target, within, whatever=whatever):
        if leftover.disposable:
            discard(leftover.folder)
        if os.path.lexists(leftover.folder):
            remaining.append(leftover)
    return remaining


def staged_below(root: Path) -> list[Path]:
    """The folders at or below a root that contain folders with the name of a leftover."""
    folders = []
    for folder, names, _ in os.walk(root):
        if any(_NAME.fullmatch(name) for name in names):
            folders.append(Path(folder))
    return folders


class _State(Enum):
    """The state of a folder and its owner; `OWNER_GONE` may contain more than a draft."""

    IN_USE = 0
    OWNER_UNKNOWN = 1
    OWNER_GONE = 2
    DISPOSABLE = 3


def _state(folder: Path, target: Path, any_target: bool) -> _State:
    """Whether a process that is gone made a folder for the target, or next to it."""
    try:
        if folder.is_symlink():
            return _State.IN_USE
        names = os.listdir(folder)
        of_the_target = any_target or folder.name[:-_RANDOM] == _prefix(target)
        is_settled = time.time() - os.lstat(folder).st_mtime > _SETTLED
        if not names:
            # Its process ended before it made the marker, so the folder is empty
            return _State.DISPOSABLE if of_the_target and is_settled else _State.IN_USE
        marker = os.open(folder / MARKER, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return _State.IN_USE
    try:
        expected = _path(target)
        data = os.read(marker, _LONGEST_PATH)
        if not data and names == [MARKER]:
            # Its process ended before it wrote the marker, which it locks first
            is_disposable = of_the_target and is_settled
            return _of_locked(marker, _State.DISPOSABLE) if is_disposable else _State.IN_USE
        # A marker of an earlier podium has only the path
        recorded, host, purpose = (*data.split(b"\0"), b"", b"")[:3]
        if any_target:
            recorded, expected = os.path.dirname(recorded), os.path.dirname(expected)
        if recorded != expected:
            return _State.IN_USE
        if host != _host():
            return _of_locked(marker, _State.OWNER_UNKNOWN)
        draft = purpose == _DRAFT
        return _of_locked(marker, _State.DISPOSABLE if draft else _State.OWNER_GONE)
    except OSError:
        return _State.IN_USE
    finally:
        os.close(marker)


def _of_locked(marker: int, unlocked: _State) -> _State:
    """The state of a folder: `unlocked` if no process of this machine locks its marker."""
    locked = _lock(marker)
    if locked is None:
        return _State.OWNER_UNKNOWN
    return unlocked if locked else _State.IN_USE


def _host() -> bytes:
    # Other machines that share the file system may not see a lock. Windows has neither
    return os.fsencode(os.uname().nodename) if hasattr(os, "uname") else b""


def _prefix(target: Path) -> str:
    # A name that is not UTF-8 is also cut between characters
    return f"{PREFIX}{target.name[:_LONGEST]}."


def _path(target: Path) -> bytes:
    return os.fsencode(os.path.realpath(target.absolute().parent)) + b"/" + os.fsencode(target.name)


def _lock(handle: int) -> bool | None:
    """Lock an open file: False if another process has the lock, None without lock support."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _measured(folder: Path, state: _State) -> Leftover:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(parent, name)).st_size
    begun = time.time()
    with suppress(OSError):
        begun = os.lstat(folder / MARKER).st_mtime
    disposable = state is _State.DISPOSABLE
    owner_gone = disposable or state is _State.OWNER_GONE
    return Leftover(folder, size, max(0.0, time.time() - begun), owner_gone, disposable)
