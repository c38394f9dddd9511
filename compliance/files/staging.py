"""Folders in which files are made before they take their place, and those that a kill left behind.

A folder counts as podium's own only by its name and a marker in it that names what it was made for;
one that is empty but for an empty marker, whose process ended too early, by its name alone.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


class Leftover(NamedTuple):
    """A folder whose process is gone: its size in bytes, its age in seconds."""

    folder: Path
    size: int
    age: float


@contextmanager
def staging(target: Path, within: Path | None = None) -> Iterator[Path]:
    """A new folder beside `target`, or in `within`; removed at the end. Raises OSError.

    Who makes something in it moves it to `target` by a rename, which is atomic within one file
    system only.
    """
    place = within or target.absolute().parent
    folder, marker = Path(tempfile.mkdtemp(dir=place, prefix=_prefix(target))), -1
    try:
        marker = os.open(folder / MARKER, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Held as long as this process lives, however it ends
        _lock(marker)
        os.write(marker, _path(target))
        yield folder
    finally:
        discard(folder)
        if marker >= 0:
            os.close(marker)


def discard(folder: Path) -> None:
    """Remove a folder as far as the disk lets it; raises nothing."""
    # A call of the system that failed once may work now
    for _ in range(2):
        # Python passes some errors on that it was told to ignore
        with suppress(OSError):
            _remove_all_but_the_marker(folder)
            shutil.rmtree(folder, ignore_errors=True)
        if not os.path.lexists(folder):
            return


def _remove_all_but_the_marker(folder: Path) -> None:
    """What a kill leaves of a folder that is being removed is known by its marker: that goes last.

    Raises OSError.
    """
    with os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                shutil.rmtree(each.path, ignore_errors=True)
            elif each.name != MARKER:
                os.unlink(each.path)


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
    found = (Path(place, name) for name in names)
    return [_measured(folder) for folder in found if _abandoned(folder, target, whatever)]


def _abandoned(folder: Path, target: Path, whatever: bool) -> bool:
    """Whether a folder was made for the target, or beside it, by a process that is gone."""
    try:
        if folder.is_symlink():
            return False
        held = os.listdir(folder)
        of_the_target = whatever or folder.name[:-_RANDOM] == _prefix(target)
        settled = time.time() - os.lstat(folder).st_mtime > _SETTLED
        if not held:
            # Ended before it made the marker; nothing is lost with it
            return of_the_target and settled
        marker = os.open(folder / MARKER, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        wanted = _path(target)
        found = os.read(marker, _LONGEST_PATH)
        if not found and held == [MARKER]:
            # Ended before it wrote the marker, which it locks first
            return of_the_target and settled and _lock(marker)
        if whatever:
            found, wanted = os.path.dirname(found), os.path.dirname(wanted)
        return found == wanted and _lock(marker)
    except OSError:
        return False
    finally:
        os.close(marker)


def _prefix(target: Path) -> str:
    # A name that is no UTF-8 is cut between characters all the same
    return f"{PREFIX}{target.name[:_LONGEST]}."


def _path(target: Path) -> bytes:
    return os.fsencode(os.path.realpath(target.absolute().parent)) + b"/" + os.fsencode(target.name)


def _lock(handle: int) -> bool:
    """Lock an open file; False where another process has. Where no locks are known, True."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _measured(folder: Path) -> Leftover:
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(place, name)).st_size
    begun = time.time()
    with suppress(OSError):
        begun = os.lstat(folder / MARKER).st_mtime
    return Leftover(folder, size, max(0.0, time.time() - begun))
