"""Folders in which files are made before they take their place, and those that a kill left behind.

A folder counts as podium's own only by its name and a marker in it that names what it was made for;
one that is empty but for an empty marker, whose process ended too early, by its name alone.
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
"""The file in such a folder that holds the path of what is made in it."""

_RANDOM = 8
"""Characters that tempfile adds to a name."""
_NAME = re.compile(re.escape(PREFIX) + rf".*\.[a-z0-9_]{{{_RANDOM}}}", re.DOTALL)
_SETTLED = 10.0
"""Seconds after which a folder without a marker is not being made: that takes microseconds."""
_LONGEST_PATH = 1 << 16
"""Bytes; a longer one is no path of a marker's."""
_LONGEST = 40
"""Characters of the target's name that the folder's name repeats: names of files have a limit."""


_DRAFT = b"draft"
"""The third field of a marker in a folder that never holds anything but what is being made."""


class Leftover(NamedTuple):
    """A folder that no process of this machine holds: its size in bytes, its age in seconds.

    `owner_gone`: its process ran on this machine and has certainly ended. Otherwise the folder may
    be in use on another machine, or on a file system without locks.
    `disposable`: the owner is gone, and the folder holds nothing but an unfinished draft. Otherwise
    it may hold the only copy of something.
    """

    folder: Path
    size: int
    age: float
    owner_gone: bool = False
    disposable: bool = False


@contextmanager
def staging(target: Path, within: Path | None = None, *, draft: bool = False) -> Iterator[Path]:
    """A new folder beside `target`, or in `within`; removed at the end. Raises OSError.

    Who makes something in it moves it to `target` by a rename, which is atomic within one file
    system only. `draft`: nothing else is ever moved into the folder.
    """
    place = within or target.absolute().parent
    folder, marker = Path(tempfile.mkdtemp(dir=place, prefix=_prefix(target))), -1
    try:
        marker = os.open(folder / MARKER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Held as long as this process lives, however it ends
        _lock(marker)
        os.write(marker, b"\0".join((_path(target), _host(), _DRAFT if draft else b"")))
        yield folder
    finally:
        discard(folder)
        if marker >= 0:
            os.close(marker)
        if os.path.lexists(folder):
            # The marker may have been the last handle that this process may have
            discard(folder)


def discard(folder: Path) -> None:
    """Remove a folder as far as the disk lets it; raises nothing."""
    # A call of the system that failed once may work now
    for _ in range(2):
        # A kill may leave a part of the folder, which is known by its marker: that goes last
        if folder.is_symlink() or not _emptied(folder, kept=MARKER):
            continue
        with suppress(OSError):
            (folder / MARKER).unlink(missing_ok=True)
            os.rmdir(folder)
            return


def _emptied(folder: Path | str, *, kept: str = "") -> bool:
    """Remove what is in a folder, but for one name; whether nothing else is left.

    Only one handle is open at a time: the reason for the removal may be that there are no more.
    """
    left = False
    try:
        with os.scandir(folder) as entries:
            found = [each for each in entries if each.name != kept]
    except OSError:
        return False
    for each in found:
        try:
            if not each.is_dir(follow_symlinks=False):
                os.unlink(each.path)
            elif _emptied(each.path):
                os.rmdir(each.path)
            else:
                left = True
        except OSError:
            left = True
    return not left


def leftovers(
    target: Path, within: Path | None = None, *, whatever: bool = False
) -> list[Leftover]:
    """The folders that calls for this target have left behind, in order of their names.

    Whatever: those as well that calls for other targets in its folder have left.
    """
    place = within or target.absolute().parent
    try:
        names = sorted(name for name in os.listdir(place) if _NAME.fullmatch(name))
    except OSError:
        return []
    found = ((Path(place, name), _state(Path(place, name), target, whatever)) for name in names)
    return [_measured(folder, state) for folder, state in found if state is not _State.IN_USE]


def remove_disposable(
    target: Path, within: Path | None = None, *, whatever: bool = False
) -> list[Leftover]:
    """Remove the disposable leftovers of a target; returns what is left of all leftovers."""
    left = []
    for each in leftovers(target, within, whatever=whatever):
        if each.disposable:
            discard(each.folder)
        if os.path.lexists(each.folder):
            left.append(each)
    return left


def staged_below(root: Path) -> list[Path]:
    """The folders at or below a root that hold folders with the name of a leftover."""
    found = []
    for folder, names, _ in os.walk(root):
        if any(_NAME.fullmatch(name) for name in names):
            found.append(Path(folder))
    return found


class _State(Enum):
    """What is known of a folder and its owner; `OWNER_GONE` may hold more than a draft."""

    IN_USE = 0
    OWNER_UNKNOWN = 1
    OWNER_GONE = 2
    DISPOSABLE = 3


def _state(folder: Path, target: Path, whatever: bool) -> _State:
    """Whether a folder was made for the target, or beside it, by a process that is gone."""
    try:
        if folder.is_symlink():
            return _State.IN_USE
        held = os.listdir(folder)
        of_the_target = whatever or folder.name[:-_RANDOM] == _prefix(target)
        settled = time.time() - os.lstat(folder).st_mtime > _SETTLED
        if not held:
            # Ended before it made the marker; nothing is lost with it
            return _State.DISPOSABLE if of_the_target and settled else _State.IN_USE
        marker = os.open(folder / MARKER, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return _State.IN_USE
    try:
        wanted = _path(target)
        data = os.read(marker, _LONGEST_PATH)
        if not data and held == [MARKER]:
            # Ended before it wrote the marker, which it locks first
            mine = of_the_target and settled
            return _of_locked(marker, _State.DISPOSABLE) if mine else _State.IN_USE
        # A marker of an earlier podium holds the path only
        found, host, purpose = (*data.split(b"\0"), b"", b"")[:3]
        if whatever:
            found, wanted = os.path.dirname(found), os.path.dirname(wanted)
        if found != wanted:
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
    """The state of a folder: `unlocked` where no process of this machine locks its marker."""
    locked = _lock(marker)
    if locked is None:
        return _State.OWNER_UNKNOWN
    return unlocked if locked else _State.IN_USE


def _host() -> bytes:
    # A lock may be unknown to other machines that share the file system. Windows has neither
    return os.fsencode(os.uname().nodename) if hasattr(os, "uname") else b""


def _prefix(target: Path) -> str:
    # A name that is no UTF-8 is cut between characters all the same
    return f"{PREFIX}{target.name[:_LONGEST]}."


def _path(target: Path) -> bytes:
    return os.fsencode(os.path.realpath(target.absolute().parent)) + b"/" + os.fsencode(target.name)


def _lock(handle: int) -> bool | None:
    """Lock an open file: False where another process has, None where no locks are known."""
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
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    begun = time.time()
    with suppress(OSError):
        begun = os.lstat(folder / MARKER).st_mtime
    disposable = state is _State.DISPOSABLE
    owner_gone = disposable or state is _State.OWNER_GONE
    return Leftover(folder, size, max(0.0, time.time() - begun), owner_gone, disposable)
