"""The code and documents of a submission: listing and opening the files.

Links to folders and links out of the submission are not followed. No pipe or device is opened.
"""

from __future__ import annotations

import os
import stat
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from podium.compliance.judging.inputs.listing import Item, ItemKind, holds
from podium.logging_spec.limits import read_json

MOST_FILES = 200_000
"""Only this number of files is listed in a tree of code."""

CODE_FOLDERS = ("benchmarks", "code", "benchmark")
"""Folders of a submission that may contain implementations: submission rules, Directory structure.

A dozen published submissions of 0.7 to 5.1 have implementations in `benchmark`.
"""

LARGEST_JSON = 1 << 16
"""Bytes of a JSON file that are read; a factor, an identifier or a division is far smaller."""


class Code:
    """The code and documents of a submission, listed once."""

    def __init__(self, root: Path) -> None:
        self.root, self._real_root = root, os.path.realpath(root)

    @cached_property
    def paths(self) -> list[str]:
        """Every file, as a path relative to the submission, in order."""
        paths: list[str] = []
        for top in CODE_FOLDERS:
            # A walk follows the link at its top
            if not holds(self._real_root, os.path.realpath(self.root / top)):
                continue
            for folder, folders, names in os.walk(self.root / top):
                folders.sort()
                relative_folder = os.path.relpath(folder, self.root)
                paths += [f"{relative_folder}/{name}" for name in sorted(names)]
                if len(paths) >= MOST_FILES:
                    return paths[:MOST_FILES]
        return paths

    @cached_property
    def files(self) -> dict[str, list[str]]:
        """Paths by base name."""
        by_name: dict[str, list[str]] = {}
        for path in self.paths:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return by_name

    @property
    def whole(self) -> bool:
        """Whether all files are listed, so that an unlisted file does not exist."""
        return len(self.paths) < MOST_FILES

    @cached_property
    def present(self) -> bool:
        """Whether the submission has any code at all: published copies often omit it."""
        return any((self.root / name).is_dir() for name in CODE_FOLDERS)

    def file(self, path: str) -> Item | None:
        """A regular file with its resolved path; None for anything else.

        It is opened by its resolved path, because the link may be replaced in the meantime.
        """
        real = os.path.realpath(self.root / path)
        if not holds(self._real_root, real):
            return None
        try:
            status = os.lstat(real)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        relative_path = os.path.relpath(real, self._real_root)
        return Item(relative_path, real, os.path.basename(real), ItemKind.FILE, status.st_size)


def open_plain(path: Path | str) -> BinaryIO:
    """Open a regular file; raises OSError for links, pipes, devices and folders."""
    handle, _ = _opened(path)
    return os.fdopen(handle, "rb")


def read_plain(path: Path | str, limit: int, *, follow: bool = False) -> bytes:
    """The first bytes of a regular file; raises OSError as `open_plain` does.

    `follow`: the path may be a link. A buffered reader would be several times as slow for a file of
    code.
    """
    handle, size = _opened(path, follow=follow)
    try:
        length = min(size, limit)
        data = os.read(handle, length)
        # A network file system may return fewer bytes at a time
        while len(data) < length and (piece := os.read(handle, length - len(data))):
            data += piece
        return data
    finally:
        os.close(handle)


def _opened(path: Path | str, *, follow: bool = False) -> tuple[int, int]:
    """The handle of a regular file, and its size."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer. O_NOFOLLOW rejects a link. The
    # kind is read from the handle, because the file may be replaced after a check of the path. Not
    # every system has the two flags
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    flags |= 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    # Windows otherwise converts newlines
    handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise OSError(0, "it is not a regular file")
    return handle, status.st_size


def small_json(path: Path | str) -> Any:
    """The content of a small regular JSON file; raises OSError and ValueError."""
    # A longer file is truncated, so it is not valid JSON and is rejected without being read
    return read_json(read_plain(path, LARGEST_JSON).decode())
