"""The settings for git: constants, a few settings of the user, and very few of the clone.

A clone may come from an untrusted source, including its `.git` folder. Git never reads its
configuration directly: podium lists it as a file, and adopts only settings that are known to start
no program and to redirect nothing.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.files.git_process import READING_SECONDS, reason, run_git
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.directory import (
    NO_REPOSITORY,
    GitDirectory,
    read_small,
)

Pairs = list[tuple[str, str]]

_OLDEST = (2, 32)
"""The first version of git that supports GIT_CONFIG_GLOBAL."""

_LARGEST = 1 << 20
"""The largest configuration file in bytes; usual files have less than a thousandth of this."""

DEFAULTS: Pairs = [
    # A remote that is silent for a minute
    ("http.lowSpeedLimit", "1"),
    ("http.lowSpeedTime", "60"),
]
"""Settings that the user's configuration can override."""

CONSTANTS: Pairs = [
    # The user's settings must not change a byte of a log, nor quote names in listings
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.quotePath", "false"),
    # No hooks at all: a commit has exactly the files that podium has checked
    ("core.hooksPath", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.pager", "cat"),
    ("rerere.enabled", "false"),
    # A commit-graph file repeats data of the commits, and can contradict them
    ("core.commitGraph", "false"),
    # The default starts git in another repository, with the configuration there
    ("core.alternateRefsCommand", "true"),
    # Garbage collection would continue after the call
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    # A submodule is a clone with its own configuration
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
    # Memory
    ("core.bigFileThreshold", "64m"),
    ("pack.windowMemory", "256m"),
    ("pack.threads", "4"),
]
"""Settings that apply in every clone."""

_FROM_USER = re.compile(
    r"(user|author|committer|gpg|credential|http|https|url)\..+"
    r"|(commit|push)\.gpgsign|core\.(sshcommand|askpass|excludesfile)|ssh\.variant"
    r"|(fetch|transfer)\.fsckobjects"
)
"""Keys adopted from the user's configuration: identity, signing and authentication."""

_FROM_CLONE = re.compile(r"(user|author|committer)\.(name|email)")
"""Keys adopted from the clone with any value: names of persons."""

_SWITCHES = ("core.filemode", "core.sparsecheckout", "core.sparsecheckoutcone")
"""Keys adopted from the clone if their value is true or false."""

_SHARED = re.compile(r"group|true|1|umask|false|0")
"""Accepted values of core.sharedRepository; others let all users read or write the objects."""

_FILTER = re.compile(r"filter\.(.+)\.(clean|process)")
_REMOTE = re.compile(r"remote\.(.+)\.([a-z]+)", re.DOTALL)
_EXTENSIONS = frozenset({"noop", "preciousobjects", "partialclone", "worktreeconfig"})
_FIRST_EXTENSIONS = _EXTENSIONS | {"objectformat", "refstorage", "relativeworktrees"}


@dataclass(slots=True)
class CloneSettings:
    """The supported part of a clone's configuration."""

    object_format: str = "sha1"
    partial: str = ""
    """The remote from which a partial clone fetches missing objects."""
    core: dict[str, str] = field(default_factory=dict)
    identity: Pairs = field(default_factory=list)
    remotes: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    hooks: bool = False
    """Whether the configuration names a folder of hooks."""
    includes: str = ""
    """The first key that includes another file."""


@dataclass(slots=True)
class UserSettings:
    """The supported part of the user's configuration."""

    pairs: Pairs = field(default_factory=list)
    filters: frozenset[str] = frozenset()
    """Names of filters; podium runs none, and refuses files that need one."""


def refuse_old(version: str) -> None:
    """Raise UsageFault for a version of git that cannot be isolated from a clone's settings."""
    match = re.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise UsageFault(
            f"{clean(version.strip()) or 'git'} is too old; expected git {oldest} or later"
        )


def clone_settings(git: GitDirectory) -> CloneSettings:
    """The supported part of a clone's configuration; raises UsageFault for an unknown format."""
    pairs = _listed(git.common / "config")
    values = dict(pairs)
    if _truth(values.get("extensions.worktreeconfig", "")) and (
        os.path.lexists(git.own / "config.worktree")
    ):
        pairs += _listed(git.own / "config.worktree")
    settings = CloneSettings()
    for key, value in pairs:
        if key.startswith(("include.", "includeif.")):
            settings.includes = settings.includes or key
        elif key == "core.hookspath":
            settings.hooks = True
        elif _FROM_CLONE.fullmatch(key):
            settings.identity.append((key, value))
        elif remote := _REMOTE.fullmatch(key):
            settings.remotes.setdefault(remote[1], {}).setdefault(remote[2], []).append(value)
        elif key in _SWITCHES and _truth(value) is not None:
            settings.core[key] = "true" if _truth(value) else "false"
        elif key == "core.sharedrepository" and _SHARED.fullmatch(value.lower()):
            settings.core[key] = value.lower()
    _apply_format(values, settings)
    settings.core["core.ignorecase"] = str((git.common / "CONFIG").exists()).lower()
    settings.core["core.precomposeunicode"] = str(sys.platform == "darwin").lower()
    return settings


def _apply_format(values: Mapping[str, str], settings: CloneSettings) -> None:
    """Apply the format and extensions of the repository; raises UsageFault for unknown ones."""
    version = values.get("core.repositoryformatversion", "0")
    if version not in ("0", "1"):
        raise UsageFault(f"the clone has format version {clean(version)}; expected 0 or 1")
    extensions = {
        key.removeprefix("extensions."): value
        for key, value in values.items()
        if key.startswith("extensions.")
    }
    settings.partial = extensions.get("partialclone", "")
    if version == "0":
        return
    for name, value in extensions.items():
        if name not in _FIRST_EXTENSIONS or (name == "refstorage" and value != "files"):
            raise UsageFault(
                f"the clone needs extensions.{clean(name)}={clean(value)}, which podium does not "
                "support"
            )
    settings.object_format = extensions.get("objectformat", "sha1").lower()
    if settings.object_format not in ("sha1", "sha256"):
        raise UsageFault(
            f"the clone has the object format {clean(settings.object_format)}; "
            "expected sha1 or sha256"
        )


def _listed(file: Path) -> Pairs:
    """The settings in one file, without included files."""
    # Git would hang on a pipe, and reads a large file into memory
    read_small(file, _LARGEST)
    result = run_git(
        ("config", "--file", str(file), "--no-includes", "--list", "-z"),
        folder=file.parent,
        variables=NO_REPOSITORY,
        seconds=READING_SECONDS,
    )
    if result.status:
        raise UsageFault(f"git config failed: {reason(result.errors)}")
    return [_pair(part) for part in _parts(result.output)]


def user_settings(output: bytes) -> UserSettings:
    """The supported part of the output of `git config --list --show-scope -z`."""
    settings = UserSettings()
    parts = _parts(output)
    filters: set[str] = set()
    for scope, setting in zip(parts[::2], parts[1::2], strict=False):
        key, value = _pair(setting)
        if scope not in ("system", "global", "command"):
            continue
        if _FROM_USER.fullmatch(key):
            settings.pairs.append((key, value))
        elif (filter_match := _FILTER.fullmatch(key)) and value:
            filters.add(filter_match[1])
    settings.filters = frozenset(filters)
    return settings


def as_variables(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The environment variables that pass settings to git with precedence over all files."""
    variables = {"GIT_CONFIG_COUNT": "0"}
    for number, (key, value) in enumerate(pairs):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
        variables["GIT_CONFIG_COUNT"] = str(number + 1)
    return variables


def _parts(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def _pair(setting: str) -> tuple[str, str]:
    """A key, with section and name in lower case, and its value; a missing value means true."""
    key, equals, value = setting.partition("\n")
    return key, value if equals else "true"


def _truth(value: str) -> bool | None:
    truth_values = {"true": True, "yes": True, "on": True, "1": True}
    truth_values |= {"false": False, "no": False, "off": False, "0": False}
    return truth_values.get(value.lower())
