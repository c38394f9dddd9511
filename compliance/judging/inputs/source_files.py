"""The code and documents that came with a submission: what there is, read with care.

Links to folders are not followed, nor links out of the submission; no pipe or device is opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from podium.compliance.judging.inputs.listing import holds
from podium.logging_spec.limits import read_json

MOST_FILES = 200_000
"""A tree of code beyond this many files is not listed in full."""

CODE_FOLDERS = ("benchmarks", "code", "benchmark")
"""Folders of a submission that may hold implementations: submission rules, Directory structure.

A dozen published submissions of 0.7 to 5.1 have theirs in `benchmark`.
"""

FURTHEST = 64 << 20
"""Bytes; lines of source files beyond are taken to exist."""

LARGEST_SOURCE = 4 << 20
"""Bytes of a source file that are read for what stands around a line."""

NEAR = 5
"""Lines before and after one that count as near it: a call may be written on several."""

LARGEST_JSON = 1 << 16
"""Bytes; a factor, an identifier or a division takes far fewer."""

_BLOCK = 1 << 16


def came_along(root: Path) -> bool:
    """Whether a submission has any code at all: published copies often leave it out."""
    return any((root / name).is_dir() for name in CODE_FOLDERS)


class Code:
    """The code and documents of a submission, listed once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @cached_property
    def paths(self) -> list[str]:
        """Every file, by its path relative to the submission, in order."""
        found: list[str] = []
        for name in CODE_FOLDERS:
            for path in _walk(self.root, name):
                if len(found) == MOST_FILES:
                    return found
                found.append(path)
        return found

    @cached_property
    def files(self) -> dict[str, list[str]]:
        """Paths by base name."""
        found: dict[str, list[str]] = {}
        for path in self.paths:
            found.setdefault(path.rpartition("/")[2], []).append(path)
        return found

    @property
    def whole(self) -> bool:
        """Whether all files are listed: what is not listed then is not there."""
        return len(self.paths) < MOST_FILES

    @cached_property
    def present(self) -> bool:
        """Whether the submission has any code at all."""
        return came_along(self.root)

    def below(self, base: str) -> list[str]:
        """The files below a folder."""
        return [path for path in self.paths if path.startswith(f"{base}/")]

    def head(self, path: str) -> str:
        """The beginning of a file in lower case; empty where it is not a regular file."""
        try:
            with self._open(path) as stream:
                return stream.read(_BLOCK).decode(errors="replace").lower()
        except OSError:
            return ""

    def has_line(self, path: str, lineno: int) -> bool:
        """Whether a file has that line; assumed of what cannot be read."""
        try:
            with self._open(path) as stream:
                return _reaches(stream, lineno)
        except OSError:
            return True

    def around(self, path: str, lineno: int) -> str | None:
        """A line of a file and those near it, in lower case; None where there is no such line."""
        first = max(0, lineno - 1 - NEAR)
        try:
            with self._open(path) as stream:
                lines = stream.read(LARGEST_SOURCE).splitlines()
        except OSError:
            return None
        if not 0 < lineno <= len(lines):
            return None
        return b"\n".join(lines[first : lineno + NEAR]).decode(errors="replace").lower()

    def _open(self, path: str) -> BinaryIO:
        # The path as resolved is opened, not the one given: the link may be exchanged meanwhile
        real = os.path.realpath(self.root / path)
        if not holds(os.path.realpath(self.root), real):
            raise OSError(0, "it leads out of the submission")
        return open_plain(real)


def _walk(root: Path, top: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root / top):
        folders.sort()
        below = os.path.relpath(folder, root)
        yield from (f"{below}/{name}" for name in sorted(names))


def _reaches(stream: BinaryIO, lineno: int) -> bool:
    lines, read, last = 0, 0, b"\n"
    while read < FURTHEST:
        block = stream.read(_BLOCK)
        if not block:
            # The last line may have no line end
            return lines + (last != b"\n") >= lineno
        lines += block.count(b"\n")
        if lines >= lineno:
            return True
        read += len(block)
        last = block[-1:]
    return True


def open_plain(path: Path | str) -> BinaryIO:
    """Open a regular file; raises OSError for links, pipes, devices and folders."""
    # Without O_NONBLOCK the opening of a pipe would wait for a writer; O_NOFOLLOW refuses a link,
    # and the kind is asked of the handle, where nobody can exchange the file any more. Not every
    # system has the two flags
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "it is not a regular file")
    return os.fdopen(handle, "rb")


def small_json(path: Path | str) -> Any:
    """What a small regular JSON file holds; raises OSError and ValueError."""
    with open_plain(path) as stream:
        # What is longer is cut, and then no JSON any more: it is refused without being read
        return read_json(stream.read(LARGEST_JSON).decode())
