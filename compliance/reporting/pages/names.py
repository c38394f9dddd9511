"""Names of files for whatever names submissions have: plain on any system, no two alike."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9.+-]+")
_LONGEST = 48

Key = TypeVar("Key", bound=Hashable)


def plain_name(text: str, longest: int = _LONGEST) -> str:
    """A text as a part of a file's name, anywhere; empty ones become `none`."""
    name = _NOT_PLAIN.sub("_", text).strip("._-")[:longest]
    return name or "none"


def slugs(names: Sequence[str], prefix: str) -> dict[str, str]:
    """A file's name for each name: no two alike, also where capitals are not told apart."""
    return distinct((name, f"{prefix}-{plain_name(name)}") for name in names)


def distinct(wanted: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """The name that each key wants, with a number behind it where an earlier key has it."""
    found: dict[Key, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for key, plain in wanted:
        name, number = plain, counts.get(plain.casefold(), 1)
        while name.casefold() in taken:
            number += 1
            name = f"{plain}_{number}"
        counts[plain.casefold()] = number
        taken.add(name.casefold())
        found[key] = name
    return found
