"""The names of an archive's members: which are allowed, and which would collide on some disk.

Bundling and unpacking share these rules, so that whatever is bundled can be unpacked.
"""

from __future__ import annotations

import os
import re
import unicodedata
from enum import StrEnum

from podium.compliance.bundling.format.refusal import Refused
from podium.compliance.report.terminal import clean

LONGEST_NAME = 4096
"""Bytes of a whole name, the longest path that Linux opens."""

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


class TakenPaths:
    """Every path that members have so far; no two may collide on any disk."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, Kind, bool]] = {}

    def __len__(self) -> int:
        return len(self._taken)

    def take(self, parts: tuple[str, ...], kind: Kind) -> None:
        """Take a path and the folders above it; raises Refused where another member has it."""
        name = "/".join(parts)
        for end in range(len(parts) - 1, 0, -1):
            above = "/".join(parts[:end])
            known = self._taken.get(folded(above))
            self._enter(above, Kind.FOLDER, name, stated=False)
            if known is not None:
                break
        self._enter(name, kind, name, stated=True)

    def _enter(self, path: str, kind: Kind, name: str, *, stated: bool) -> None:
        key, display_path = folded(path), clean(name)
        if key not in self._taken:
            self._taken[key] = (path, kind, stated)
            return
        other, other_kind, other_stated = self._taken[key]
        if other != path:
            names = f"{clean(path)} and {clean(other)}"
            raise Refused(
                f"{display_path}: {names} are one name where case or Unicode forms do not count"
            )
        if (kind is Kind.FOLDER) != (other_kind is Kind.FOLDER):
            raise Refused(
                f"{display_path}: {clean(path)} is a {kind} here and a {other_kind} elsewhere"
            )
        # Tar may list a folder after files in it; what is listed itself may come once only
        if stated and (other_stated or kind is not Kind.FOLDER):
            raise Refused(f"{display_path}: the name is there twice")
        self._taken[key] = (path, kind, stated or other_stated)
