"""File names that are a problem for other systems, for git, or for a reader."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from podium.compliance.judging.repository.repository_rules import (
    CONTROL_CHARACTER,
    DOT,
    LONG_NAME,
    LONG_PATH,
    NOT_NFC,
    NOT_UTF8,
    SPACE,
    WINDOWS_NAME,
)
from podium.rules.finding import Finding, Profile
from podium.rules.fixed.fixed_rule import FixedRule

LONGEST_NAME = 255
"""Longest name, in bytes, on the usual file systems."""

LONGEST_PATH = 200
"""Longest path, in characters, that leaves room for a clone's folder within Windows' 260."""

# The last two ranges change the direction of text, so that a name may look like another
_CONTROL = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
_FORBIDDEN = re.compile(r'[<>:"|?*\\]')
# Windows treats superscript digits as digits here: COM¹ is also a device
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [port + number for port in ("com", "lpt") for number in "0123456789¹²³"]
)


def plain(path: str) -> str:
    r"""A path that can be printed: bytes that are not valid text become \xff."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    return path


def official_rule(name: str) -> FixedRule | None:
    """The rule of the official checker that a name violates."""
    if name.startswith("."):
        return DOT
    return SPACE if " " in name else None


def violated_rules(name: str, path: str) -> tuple[FixedRule, ...]:
    """The rules that a name, and the path that ends in it, violate."""
    rules = _violated_by(name)
    return (*rules, LONG_PATH) if len(path) > LONGEST_PATH else rules


def name_finding(rule: FixedRule, profile: Profile, name: str, path: str) -> Finding:
    """The finding about a name, or about the path that ends in it."""
    longest, length = (LONGEST_PATH, len(path)) if rule is LONG_PATH else (LONGEST_NAME, 0)
    reason = _windows(name)
    return rule.found(profile, plain(path), reason=reason, longest=longest, length=length)


@lru_cache(maxsize=4096)
def _violated_by(name: str) -> tuple[FixedRule, ...]:
    """The rules that a name violates; cached, because many folders have the same names."""
    official = official_rule(name)
    rules = [] if official is None else [official]
    if not (name.isascii() and name.isprintable()):
        rules += _characters(name)
    if _windows(name):
        rules.append(WINDOWS_NAME)
    if len(os.fsencode(name)) > LONGEST_NAME:
        rules.append(LONG_NAME)
    return tuple(rules)


def _characters(name: str) -> Iterator[FixedRule]:
    if re.search(_CONTROL, name):
        yield CONTROL_CHARACTER
    if plain(name) != name:
        yield NOT_UTF8
    elif not unicodedata.is_normalized("NFC", name):
        yield NOT_NFC


def _windows(name: str) -> str:
    match = _FORBIDDEN.search(name)
    if match:
        return f"it has a {match[0]}"
    if name[-1:] in (".", " "):
        return "it ends in a dot or a space"
    # With any extension: aux.txt is the device aux
    return "it is reserved for a device" if name.partition(".")[0].lower() in _DEVICES else ""


def collisions(items: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """(path, other name) of names in one folder that differ only in case or Unicode composition."""
    names = [name for _, name in items]
    # Nearly every folder ends here: only names that are not ASCII must be normalized
    if len({*map(str.lower, names)}) == len(names) and "".join(names).isascii():
        return
    first: dict[str, str] = {}
    for path, name in items:
        key = name.lower() if name.isascii() else _folded(name)
        other = first.setdefault(key, name)
        if other != name:
            yield path, plain(other)


def _folded(name: str) -> str:
    # Folding decomposes some characters, so they are composed again
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
