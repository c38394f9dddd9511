"""What is wrong with the names of files: for other systems, for git, for a reader."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import msgspec

from podium.rules.finding import StatedBy

LONGEST_NAME = 255
"""Bytes that a name may have on the usual file systems."""

LONGEST_PATH = 200
"""Characters that leave room for a clone's own folder within the 260 of Windows."""

_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_FORBIDDEN = re.compile(r'[<>:"|?*\\]')
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [port + number for port in ("com", "lpt") for number in "0123456789¹²³"]
)

_RENAME = "rename it with letters, digits, - and _"
_MEND = f"remove it, or {_RENAME}"


class Fault(msgspec.Struct, frozen=True):
    """What is wrong at one path."""

    id: str
    message: str
    hint: str = ""
    stated_by: StatedBy = StatedBy.POLICY
    line: int | None = None


def plain(path: str) -> str:
    r"""A path that can be written as text: bytes that are none become \xff."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    return path


def official_name(name: str) -> Fault | None:
    """What the official checker rejects in a name."""
    if name.startswith("."):
        said = "the name begins with a dot"
        return Fault("repo.leading-dot", said, _MEND, StatedBy.VERIFIER)
    if " " in name:
        return Fault("repo.space-in-name", "the name has a space", _MEND, StatedBy.VERIFIER)
    return None


def name_faults(name: str, path: str) -> tuple[Fault, ...]:
    """What is wrong with one name, and with the path that it ends."""
    faults = _faults_of(name)
    if len(path) > LONGEST_PATH:
        said = f"the path has {len(path)} characters: a clone on Windows may fail on it"
        hint = f"keep paths within {LONGEST_PATH} characters"
        return (*faults, Fault("repo.long-path", said, hint))
    return faults


@lru_cache(maxsize=4096)
def _faults_of(name: str) -> tuple[Fault, ...]:
    """What is wrong with a name: many stand in every folder of results, such as result_0.txt."""
    return tuple(_name_faults(name))


def _name_faults(name: str) -> Iterator[Fault]:
    official = official_name(name)
    if official is not None:
        yield official
    if not (name.isascii() and name.isprintable()):
        yield from _characters(name)
    windows = _windows(name)
    if windows:
        yield Fault("repo.windows-name", f"Windows rejects the name: {windows}", _RENAME)
    if len(os.fsencode(name)) > LONGEST_NAME:
        said = f"the name has more than {LONGEST_NAME} bytes"
        yield Fault("repo.long-name", said, "shorten it")


def _characters(name: str) -> Iterator[Fault]:
    if re.search(_CONTROL, name):
        said = "the name has a control character or a direction override"
        yield Fault("repo.control-character", said, _RENAME)
    if plain(name) != name:
        yield Fault("repo.not-utf8", "the name is not UTF-8 text", _RENAME)
    elif not unicodedata.is_normalized("NFC", name):
        said = "the name has decomposed characters, which other systems write otherwise (not NFC)"
        yield Fault("repo.not-nfc", said, "rename it in composed characters, or in ASCII")


def _windows(name: str) -> str:
    forbidden = _FORBIDDEN.search(name)
    if forbidden:
        return f"it has a {forbidden[0]}"
    if name[-1:] in (".", " "):
        return "it ends in a dot or a space"
    return "it is reserved for a device" if name.partition(".")[0].lower() in _DEVICES else ""


def collisions(items: list[tuple[str, str]]) -> Iterator[tuple[str, Fault]]:
    """(path, fault) of the names in one folder that differ only in capitals or composition."""
    names = [name for _, name in items]
    if len({*map(str.lower, names)}) == len(names) and "".join(names).isascii():
        return
    first: dict[str, str] = {}
    for path, name in items:
        key = name.lower() if name.isascii() else _folded(name)
        other = first.setdefault(key, name)
        if other != name:
            said = f"the name differs from {plain(other)!r} only in capitals: some systems keep one"
            yield path, Fault("repo.case-collision", said, "rename one of them")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
