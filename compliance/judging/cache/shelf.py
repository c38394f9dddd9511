"""The folder that outcomes are kept in: whose it is, what it may take, and files that are whole."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_file
from podium.compliance.files.staging import remove_disposable

FOLDER = "PODIUM_CACHE_DIR"
"""The environment variable that names the folder, as `--cache-dir` does."""

MOST_BYTES = 512 << 20
"""Bytes of the whole folder beyond which what was used longest ago goes."""

_NAME, _ENDING = "checks", ".kept"
_MAGIC = b"podium.kept/2\n"
_EARLIER = b"podium.kept/1\n"
_HASH = 32


def usual_folder() -> Path:
    """Where this user's programs keep what they can make anew; raises UsageFault for nowhere."""
    given = os.environ.get(FOLDER)
    if given:
        return Path(given)
    if sys.platform == "win32":
        named, below = os.environ.get("LOCALAPPDATA"), "AppData/Local"
    elif sys.platform == "darwin":
        named, below = None, "Library/Caches"
    else:
        named, below = os.environ.get("XDG_CACHE_HOME"), ".cache"
    # The specification of XDG: a path that is not whole counts as none
    if named and Path(named).is_absolute():
        return Path(named, "podium")
    try:
        return Path.home() / below / "podium"
    except RuntimeError:
        raise UsageFault("no home folder to keep a cache in; name a folder: --cache-dir") from None


class Refused(Exception):
    """The folder cannot be used, or a file in it; the message names it and says why."""


class Damaged(Refused):
    """A file in it is not whole, or none of podium's."""


class Shelf:
    """The files of one cache: read if they are whole, replaced at once, few enough.

    Two processes may use it at a time: who writes last is kept.
    """

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self.folder, self.most = folder / _NAME, most

    def open(self) -> None:
        """Make the folder, for its owner alone; raises Refused where it is or may be another's."""
        try:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            status = os.lstat(self.folder)
        except OSError as error:
            raise self._refused(error.strerror or type(error).__name__) from None
        if not stat.S_ISDIR(status.st_mode):
            raise self._refused("it is a link, which is not followed")
        # Whoever may write there could have a verdict turned round
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise self._refused("it belongs to another user")
        if os.name == "posix" and status.st_mode & 0o022:
            raise self._refused("others may write to it; take that away: chmod go-w")

    def read(self, name: str) -> bytes | None:
        """What was kept under a name; None where nothing was. Raises Refused, or Damaged."""
        path = self._path(name)
        try:
            with open(path, "rb", opener=_no_link) as stream:
                data = stream.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Damaged(f"{path}: {error.strerror or type(error).__name__}") from None
        if data.startswith(_EARLIER):
            return None
        start = len(_MAGIC) + _HASH
        body = memoryview(data)[start:]
        if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != _hash(body):
            raise Damaged(f"{path} is damaged, or no file of podium's")
        return bytes(body)

    def write(self, name: str, body: bytes) -> None:
        """Keep bytes under a name; raises Refused where they cannot be written, or are too many."""
        if len(body) > self.most:
            raise self._refused(f"{len(body)} bytes are more than the {self.most} it may have")
        path = self._path(name)
        try:
            # Not durable: what a power cut leaves is told by its hash, and made anew
            with draft_file(path, durable=False) as stream:
                stream.write(_MAGIC + _hash(memoryview(body)))
                stream.write(body)
        except UsageFault as fault:
            raise Refused(str(fault)) from None
        remove_disposable(path)
        self._thin(path)

    def use(self, name: str) -> None:
        """Count what is kept under a name as used now."""
        with suppress(OSError):
            os.utime(self._path(name))

    def clear(self) -> int:
        """Remove all that is kept; returns how many files that were."""
        found = self._files()
        for each in found:
            with suppress(OSError):
                os.unlink(each.path)
        return len(found)

    def _refused(self, why: str) -> Refused:
        return Refused(f"{self.folder}: {why}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_ENDING}"

    def _files(self) -> list[_File]:
        found: list[_File] = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for each in entries:
                if each.name.endswith(_ENDING):
                    with suppress(OSError):
                        told = each.stat(follow_symlinks=False)
                        found.append(_File(told.st_mtime_ns, each.path, told.st_size))
        return found

    def _thin(self, newest: Path) -> None:
        found = sorted(self._files())
        size = sum(each.size for each in found)
        for each in found:
            if size <= self.most:
                return
            if each.path != str(newest):
                with suppress(OSError):
                    os.unlink(each.path)
                size -= each.size


class _File(NamedTuple):
    used: int
    path: str
    size: int


def _hash(body: memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=_HASH).digest()


def _no_link(path: str, flags: int) -> int:
    more = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | more)
