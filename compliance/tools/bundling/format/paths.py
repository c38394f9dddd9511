"""The names of an archive's members: which are allowed, and which would collide on some disk.

Bundling and unpacking share these rules, so that whatever is bundled can be unpacked.
"""

from __future__ import annotations

import os
import re
import unicodedata
from enum import StrEnum
from typing import NamedTuple

from podium.compliance.text.terminal import clean
from podium.compliance.tools.bundling.format.refusal import Refused

LONGEST_NAME = 4096
"""Bytes of a whole name, the longest path that Linux opens."""

DEEPEST_NAME = 128
"""Folders in each other. A tree of code has a dozen, and each level costs whoever walks it."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DRIVE = re.compile(r"[A-Za-z]:")


class Kind(StrEnum):
    """What a member becomes on disk."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    HARD_LINK = "hard link"


def parts_of(name: str, display_path: str) -> tuple[str, ...]:
    """The parts of a member's name, none for the root itself; raises Refused for a hostile name."""
    # A leading backslash is the root of a drive on Windows
    if name.startswith(("/", "\\")):
        raise Refused(f"{display_path}: the name is absolute; members must lie below the folder")
    if len(os.fsencode(name)) > LONGEST_NAME:
        raise Refused(f"{clean(name[:60])}...: the name has more than {LONGEST_NAME} bytes")
    parts = name.split("/")
    # `tar -c .` puts ./ before every name: that is usual, not hostile
    while parts and parts[0] == ".":
        parts = parts[1:]
    if len(parts) > DEEPEST_NAME:
        raise Refused(f"{clean(name[:60])}...: the name is more than {DEEPEST_NAME} folders deep")
    for part in parts:
        _check_part(part, display_path)
    return tuple(parts)


def _check_part(part: str, display_path: str) -> None:
    if part == "..":
        raise Refused(f"{display_path}: the name leaves the folder by '..'")
    if part in ("", "."):
        raise Refused(f"{display_path}: the name has an empty part")
    # Refused on every system: what Linux packs may be unpacked on Windows
    if "\\" in part or _DRIVE.match(part):
        raise Refused(f"{display_path}: the name is a path of its own on Windows")
    # An escape sequence in a name could rewrite what a terminal shows about it
    if _CONTROL.search(part):
        raise Refused(f"{display_path}: the name has a control character")


def folded(name: str) -> str:
    """A name as disks see it that ignore case and Unicode normalization."""
    if name.isascii():
        return name.lower()
    # Unicode's caseless match: folding can undo the normal form, so it is made before and after
    plain = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFD", plain.casefold())


class _Place(NamedTuple):
    """One name in a folder: as it was written, what it is, and whether a member is named so."""

    number: int
    written: str
    kind: Kind
    stated: bool


class TakenPaths:
    """Every path that members have so far; no two may collide on any disk.

    Each name is kept once, below its folder's number: whole paths would take memory, and the time
    to compare them, by the square of their depth.
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[int, str], _Place] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, parts: tuple[str, ...], kind: Kind) -> None:
        """Take a path and the folders above it; raises Refused where another member has it."""
        folder = 0
        for at in range(1, len(parts)):
            folder = self._enter(folder, parts[:at], Kind.FOLDER, parts, stated=False)
        self._enter(folder, parts, kind, parts, stated=True)

    def _enter(
        self,
        folder: int,
        path: tuple[str, ...],
        kind: Kind,
        member: tuple[str, ...],
        *,
        stated: bool,
    ) -> int:
        """Take one name in the folder of that number; returns the number of its place."""
        key = (folder, folded(path[-1]))
        other = self._taken.get(key)
        if other is None:
            place = _Place(len(self._taken) + 1, path[-1], kind, stated)
            self._taken[key] = place
            return place.number
        problem = _collision(other, path, kind, stated=stated)
        if problem:
            raise Refused(f"{clean('/'.join(member))}: {problem}")
        if stated and not other.stated:
            self._taken[key] = other._replace(stated=True)
        return other.number


def _collision(other: _Place, path: tuple[str, ...], kind: Kind, *, stated: bool) -> str:
    """Why a name cannot be taken beside the one that has its place; empty where it can."""
    written = clean("/".join(path))
    if other.written != path[-1]:
        # The folders above are the same, or the first of them that is not would have been refused
        before = clean("/".join((*path[:-1], other.written)))
        return f"{written} and {before} are one name where case or Unicode forms do not count"
    if (kind is Kind.FOLDER) != (other.kind is Kind.FOLDER):
        return f"{written} is a {kind} here and a {other.kind} elsewhere"
    # Tar may list a folder after files in it; what is listed itself may come once only
    if stated and (other.stated or kind is not Kind.FOLDER):
        return "the name is there twice"
    return ""
