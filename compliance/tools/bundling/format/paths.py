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

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, and those that change the direction of text."""

_DRIVE = re.compile(r"[A-Za-z]:")

_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\xb9\xb2\xb3]) *(?:[.:].*)?", re.IGNORECASE
)
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]|[. ]\Z')

# Git finds its folder under these names, too, where a file system ignores such characters
_IGNORED = re.compile(r"[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT = re.compile(r"(?:\.git|git~1)[. ]*(?::.*)?", re.IGNORECASE)


class MemberKind(StrEnum):
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
    # Settings in it name programs, which the next git command in that place would start
    if _GIT.fullmatch(_IGNORED.sub("", part)):
        raise Refused(f"{display_path}: the name is that of git's own folder")
    # An escape sequence in a name could rewrite what a terminal shows about it
    if _CONTROL.search(part):
        raise Refused(f"{display_path}: the name has a control character")


def refuse_on_windows(parts: tuple[str, ...], display_path: str) -> None:
    """Raise Refused for a name that Windows cannot have, or takes for another one."""
    for part in parts:
        if _DEVICE.fullmatch(part) or _NOT_ON_WINDOWS.search(part):
            raise Refused(f"{display_path}: Windows cannot have the name {clean(part[:60])}")


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
    kind: MemberKind
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

    def take(self, parts: tuple[str, ...], kind: MemberKind) -> int:
        """Take a path and the folders above it; returns the path's number.

        Raises Refused where another member has it.
        """
        folder = 0
        for at in range(len(parts)):
            folder = self._enter(
                folder, parts, at, kind if at + 1 == len(parts) else MemberKind.FOLDER
            )
        return folder

    def number_of(self, parts: tuple[str, ...]) -> int | None:
        """The number of a path that was taken and is written so; None for any other."""
        folder = 0
        for part in parts:
            place = self._taken.get((folder, folded(part)))
            if place is None or place.written != part:
                return None
            folder = place.number
        return folder

    def _enter(self, folder: int, parts: tuple[str, ...], at: int, kind: MemberKind) -> int:
        """Take one name in the folder of that number; returns the number of its place."""
        stated = at + 1 == len(parts)
        name = folded(parts[at])
        other = self._taken.get((folder, name))
        if other is None:
            # One string where both are the same
            written = name if name == parts[at] else parts[at]
            place = _Place(len(self._taken) + 1, written, kind, stated)
            self._taken[folder, name] = place
            return place.number
        # Tar may list a folder after files in it; what is listed itself may come once only
        again = stated and (other.stated or kind is not MemberKind.FOLDER)
        if again or other.written != parts[at] or _is_folder(other.kind) != _is_folder(kind):
            raise Refused(f"{clean('/'.join(parts))}: {_collision(other, parts[: at + 1], kind)}")
        if stated and not other.stated:
            self._taken[folder, name] = other._replace(stated=True)
        return other.number


def _is_folder(kind: MemberKind) -> bool:
    return kind is MemberKind.FOLDER


def _collision(other: _Place, path: tuple[str, ...], kind: MemberKind) -> str:
    """Why a name cannot be taken beside the one that has its place."""
    written = clean("/".join(path))
    if other.written != path[-1]:
        # The folders above are the same, or the first of them that is not would have been refused
        before = clean("/".join((*path[:-1], other.written)))
        return f"{written} and {before} are one name where case or Unicode forms do not count"
    if _is_folder(kind) != _is_folder(other.kind):
        return f"{written} is a {kind} here and a {other.kind} elsewhere"
    return "the name is there twice"
