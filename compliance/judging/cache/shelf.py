"""The cache folder: its owner, its size limit, and the integrity of its files."""

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
"""Bytes of the whole folder; above this size the least recently used files are removed."""

_NAME, _ENDING = "checks", ".kept"
_MAGIC = b"podium.kept/2\n"
_EARLIER = b"podium.kept/1\n"
_HASH = 32


def usual_folder() -> Path:
    """The usual cache folder of this user; raises UsageFault if there is none."""
    override = os.environ.get(FOLDER)
    if override:
        return Path(override)
    if sys.platform == "win32":
        base_folder, fallback = os.environ.get("LOCALAPPDATA"), "AppData/Local"
    elif sys.platform == "darwin":
        base_folder, fallback = None, "Library/Caches"
    else:
        base_folder, fallback = os.environ.get("XDG_CACHE_HOME"), ".cache"
    # The XDG specification: a relative path is ignored
    if base_folder and Path(base_folder).is_absolute():
        return Path(base_folder, "podium")
    try:
        return Path.home() / fallback / "podium"
    except RuntimeError:
        raise UsageFault("no home folder for the cache; use --cache-dir FOLDER") from None


class Refused(Exception):
    """The folder or a file in it cannot be used; the message names it and the reason."""


class Damaged(Refused):
    """A file in it is damaged, or was not written by podium."""


class Shelf:
    """The files of one cache: read if they are intact, replaced atomically, limited in size.

    Two processes may use it at the same time: the last write is kept.
    """

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self.folder, self.most = folder / _NAME, most

    def open(self) -> None:
        """Create a private folder; raises Refused if another user owns it or can write to it."""
        try:
            self.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
            status = os.lstat(self.folder)
        except OSError as error:
            raise self._refused(error.strerror or type(error).__name__) from None
        if not stat.S_ISDIR(status.st_mode):
            raise self._refused("it is a link; not followed")
        # A user who can write to the folder could change a verdict
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise self._refused("it belongs to another user")
        if os.name == "posix" and status.st_mode & 0o022:
            raise self._refused("other users can write to it; run chmod go-w on it")

    def read(self, name: str) -> bytes | None:
        """The data with a name; None if there is none. Raises Refused or Damaged."""
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
            raise Damaged(f"{path} is damaged, or not a file of podium")
        return bytes(body)

    def write(self, name: str, body: bytes) -> None:
        """Store bytes with a name; raises Refused if they cannot be written, or are too many."""
        if len(body) > self.most:
            raise self._refused(f"{len(body)} bytes are too many; the limit is {self.most}")
        path = self._path(name)
        try:
            # Not durable: after a power cut, the hash shows the damage, and the file is made again
            with draft_file(path, durable=False) as stream:
                stream.write(_MAGIC + _hash(memoryview(body)))
                stream.write(body)
        except UsageFault as fault:
            raise Refused(str(fault)) from None
        remove_disposable(path)
        self._thin(path)

    def use(self, name: str) -> None:
        """Mark the data with a name as used now."""
        with suppress(OSError):
            os.utime(self._path(name))

    def clear(self) -> int:
        """Remove all files; returns their number."""
        files = self._files()
        for file in files:
            with suppress(OSError):
                os.unlink(file.path)
        return len(files)

    def _refused(self, reason: str) -> Refused:
        return Refused(f"{self.folder}: {reason}")

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_ENDING}"

    def _files(self) -> list[_File]:
        files: list[_File] = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(_ENDING):
                    with suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        files.append(_File(status.st_mtime_ns, entry.path, status.st_size))
        return files

    def _thin(self, newest: Path) -> None:
        files = sorted(self._files())
        size = sum(file.size for file in files)
        for file in files:
            if size <= self.most:
                return
            if file.path != str(newest):
                with suppress(OSError):
                    os.unlink(file.path)
                size -= file.size


class _File(NamedTuple):
    used: int
    path: str
    size: int


def _hash(body: memoryview) -> bytes:
    return hashlib.blake2b(body, digest_size=_HASH).digest()


def _no_link(path: str, flags: int) -> int:
    extra_flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | extra_flags)
