"""Rules for the names of members: the allowed names, and collisions on some file systems.

Bundling and unpacking share these rules, so that every bundle can be unpacked.
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
"""The longest name in bytes: the limit of paths in Linux."""

DEEPEST_NAME = 128
"""The most nested folders. A tree of code has about 12, and each level slows down a tree walk."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters of terminals, and characters that change the direction of text."""

_DRIVE = re.compile(r"[A-Za-z]:")

_DEVICE = re.compile(
    r"(?:CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(?:COM|LPT)[0-9\xb9\xb2\xb3]) *(?:[.:].*)?", re.IGNORECASE
)
_NOT_ON_WINDOWS = re.compile(r'[<>:"|?*]|[. ]\Z')

# Git also finds its folder under these names on file systems that ignore such characters
_IGNORED = re.compile(r"[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_GIT = re.compile(r"(?:\.git|git~1)[. ]*(?::.*)?", re.IGNORECASE)


class MemberKind(StrEnum):
    """The kind of a member."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    HARD_LINK = "hard link"


def parts_of(name: str, display_path: str) -> tuple[str, ...]:
    """The parts of a name, empty for the root; raises Refused for a hostile name."""
    # A leading backslash is the root of a drive on Windows
    if name.startswith(("/", "\\")):
        raise Refused(f"{display_path}: the name is absolute; expected a relative path")
    if len(os.fsencode(name)) > LONGEST_NAME:
        raise Refused(f"{clean(name[:60])}...: the name is longer than {LONGEST_NAME} bytes")
    parts = name.split("/")
    # `tar -c .` adds ./ to every name, which is harmless
    while parts and parts[0] == ".":
        parts = parts[1:]
    if len(parts) > DEEPEST_NAME:
        raise Refused(f"{clean(name[:60])}...: the name is more than {DEEPEST_NAME} folders deep")
    for part in parts:
        _check_part(part, display_path)
    return tuple(parts)


def _check_part(part: str, display_path: str) -> None:
    if part == "..":
        raise Refused(f"{display_path}: the name leaves the folder with '..'")
    if part in ("", "."):
        raise Refused(f"{display_path}: the name has an empty part")
    # Refused on every system: a bundle from Linux may be unpacked on Windows
    if "\\" in part or _DRIVE.match(part):
        raise Refused(f"{display_path}: the name is a path on Windows")
    # Its settings name programs, which the next git command in that folder would start
    if _GIT.fullmatch(_IGNORED.sub("", part)):
        raise Refused(f"{display_path}: the name is reserved for the git folder")
    # An escape sequence in a name could change the output of a terminal
    if _CONTROL.search(part):
        raise Refused(f"{display_path}: the name has a control character")


def refuse_on_windows(parts: tuple[str, ...], display_path: str) -> None:
    """Raise Refused for a name that Windows does not support, or treats as another name."""
    for part in parts:
        if _DEVICE.fullmatch(part) or _NOT_ON_WINDOWS.search(part):
            raise Refused(f"{display_path}: Windows does not support the name {clean(part[:60])}")


def folded(name: str) -> str:
    """A name folded as on file systems that ignore case and Unicode normalization."""
    if name.isascii():
        return name.lower()
    # Unicode caseless matching: folding can undo the normal form, so normalize before and after
    plain = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFD", plain.casefold())


class _Place(NamedTuple):
    """One name in a folder: its number, its spelling, its kind, and whether a member states it."""

    number: int
    written: str
    kind: MemberKind
    stated: bool


class TakenPaths:
    """All paths of the members so far; no two may collide on any file system.

    Each name is stored once, under the number of its folder: memory and time for full paths would
    grow with the square of the depth.
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[int, str], _Place] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, parts: tuple[str, ...], kind: MemberKind) -> int:
        """Add a path and the folders above it; returns the number of the path.

        Raises Refused if another member has the path.
        """
        folder = 0
        for index in range(len(parts)):
            folder = self._enter(
                folder, parts, index, kind if index + 1 == len(parts) else MemberKind.FOLDER
            )
        return folder

    def number_of(self, parts: tuple[str, ...]) -> int | None:
        """The number of a path with exactly this spelling; None if there is none."""
        folder = 0
        for part in parts:
            entry = self._taken.get((folder, folded(part)))
            if entry is None or entry.written != part:
                return None
            folder = entry.number
        return folder

    def _enter(self, folder: int, parts: tuple[str, ...], index: int, kind: MemberKind) -> int:
        """Add one name in the folder with that number; returns the number of the name."""
        is_stated = index + 1 == len(parts)
        name = folded(parts[index])
        other = self._taken.get((folder, name))
        if other is None:
            # One string object if both are equal, to save memory
            written = name if name == parts[index] else parts[index]
            entry = _Place(len(self._taken) + 1, written, kind, is_stated)
            self._taken[folder, name] = entry
            return entry.number
        # Tar may list a folder after files in it, but each member only once
        is_repeated = is_stated and (other.stated or kind is not MemberKind.FOLDER)
        if (
            is_repeated
            or other.written != parts[index]
            or _is_folder(other.kind) != _is_folder(kind)
        ):
            raise Refused(
                f"{clean('/'.join(parts))}: {_collision(other, parts[: index + 1], kind)}"
            )
        if is_stated and not other.stated:
            self._taken[folder, name] = other._replace(stated=True)
        return other.number


def _is_folder(kind: MemberKind) -> bool:
    return kind is MemberKind.FOLDER


def _collision(other: _Place, path: tuple[str, ...], kind: MemberKind) -> str:
    """The reason why a name collides with another."""
    written = clean("/".join(path))
    if other.written != path[-1]:
        # The folders above are equal, or the first different one would have been refused
        before = clean("/".join((*path[:-1], other.written)))
        return f"{written} and {before} differ only in case or Unicode normalization"
    if _is_folder(kind) != _is_folder(other.kind):
        return f"{written} is a {kind} here and a {other.kind} elsewhere"
    return "duplicate name"
