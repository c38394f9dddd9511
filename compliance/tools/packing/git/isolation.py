"""What git must not take from a clone's own configuration: names of programs that it would run.

A clone may come from elsewhere, its `.git` folder included. What the user's own configuration
names (a credential helper, a program that signs) stays in force; what the clone's names does not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean

LISTING = ("config", "--list", "--show-scope", "-z")
"""The words of the git command whose output `overrides` reads; it runs no program itself."""

_OLDEST = (2, 31)
"""The first git that takes settings from its surroundings; an older one would not follow them."""

_ALWAYS = {
    # The user's own settings must not change a byte of a log, nor quote names in listings
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    # No hook, whoever wrote it: a commit is of files that podium has judged
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.pager": "cat",
    # Collecting garbage goes on after the call, and asks a program of its own
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    # A submodule is a clone of its own, with a configuration of its own
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "diff.ignoreSubmodules": "dirty",
    "status.submoduleSummary": "false",
}

_FOREIGN = {
    r"filter\..*\.(clean|smudge|process)": "",
    r"filter\..*\.required": "false",
    # An empty command counts as a merge that went well; this one always fails
    r"merge\..*\.driver": "false",
    r"diff\.external|diff\..*\.command": "",
    r"diff\..*\.textconv": "cat",
    r"credential\.(.*\.)?helper": "",
    r"core\.askpass": "",
    r"core\.sshcommand": "ssh",
    r"core\.gitproxy": "none",
    r"core\.alternaterefscommand": "true",
    r"core\.editor|sequence\.editor": "true",
    r"gpg\.program|gpg\.openpgp\.program": "gpg",
    r"gpg\.x509\.program": "gpgsm",
    r"gpg\.ssh\.program": "ssh-keygen",
    r"gpg\.ssh\.defaultkeycommand": "",
    r"submodule\..*\.update": "none",
    r"submodule\..*\.ignore": "dirty",
    r"protocol\.ext\.allow": "never",
    r"protocol\.(.*\.)?allow": "user",
    # git-lfs is a filter that many users have; it, too, runs what a clone names
    r"lfs\.customtransfer\..*\.path|lfs\.extension\..*\.(clean|smudge)": "false",
}
"""Keys that name programs, and what stands for them where only the clone sets them."""

_LISTS = re.compile(r"credential\.(.*\.)?helper")
"""Keys each value of which counts; an empty value ends the list of those before."""

_HOOK = re.compile(r"(hook\..*)\.(command|event)")

_REFUSED = {
    # Of several values of these git takes the first: none that comes later is heeded
    r"remote\..*\.(vcs|uploadpack|receivepack)": "names a program for the remote",
    r"core\.worktree": "has git write to another folder",
}
"""Keys that nothing can stand for."""


def refuse_old(version: str) -> None:
    """Raise UsageFault for a git that cannot be kept from what a clone names."""
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise UsageFault(f"{clean(version.strip()) or 'git'} is too old; install git {oldest}")


def overrides(listing: str) -> list[tuple[str, str]]:
    """The (key, value) pairs that take a clone's programs out of force.

    `listing` is what git prints for `LISTING`. Raises UsageFault for a key that must be removed.
    """
    own: dict[str, list[str]] = {}
    foreign: dict[str, None] = {}
    found = [*_ALWAYS.items()]
    for scope, key, value in _listed(listing):
        if hook := _HOOK.fullmatch(key):
            found.append((f"{hook[1]}.enabled", "false"))
        elif scope in ("local", "worktree"):
            foreign[key] = None
        else:
            own.setdefault(key, []).append(value)
    for key in foreign:
        found += _replaced(key, own.get(key, []))
    return found


def _replaced(key: str, own: list[str]) -> Iterator[tuple[str, str]]:
    """What stands for a key of the clone: what the user's own configuration says, if anything."""
    for pattern, why in _REFUSED.items():
        if re.fullmatch(pattern, key):
            raise UsageFault(
                f"the clone's own configuration {why} ({clean(key)}); take that out of .git/config"
            )
    neutral = next((value for name, value in _FOREIGN.items() if re.fullmatch(name, key)), None)
    if neutral is None:
        return
    if _LISTS.fullmatch(key):
        yield key, ""
        yield from ((key, value) for value in own)
    else:
        yield key, own[-1] if own else neutral


def environment(pairs: list[tuple[str, str]], surroundings: Mapping[str, str]) -> dict[str, str]:
    """The variables by which git takes settings that come before all files.

    Settings that the surroundings already pass that way are kept.
    """
    given = surroundings.get("GIT_CONFIG_COUNT", "")
    start = int(given) if given.isdecimal() and len(given) < 6 else 0
    made = {"GIT_CONFIG_COUNT": str(start + len(pairs))}
    for number, (key, value) in enumerate(pairs, start):
        made[f"GIT_CONFIG_KEY_{number}"] = key
        made[f"GIT_CONFIG_VALUE_{number}"] = value
    return made


def _listed(listing: str) -> Iterator[tuple[str, str, str]]:
    """(scope, key, value) of each setting; a key without a value means true."""
    parts = listing.split("\0")
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = setting.partition("\n")
        yield scope, key, value
