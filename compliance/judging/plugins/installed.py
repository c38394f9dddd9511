"""The installed plug-ins: distributions with entry points for podium. None is imported."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator

import msgspec

RULES, FORMATS, TRAINERS, PROBES = GROUPS = tuple(
    f"podium.{part}" for part in ("rules", "formats", "trainers", "probes")
)
"""The groups of entry points that podium reads."""

OFF = "PODIUM_NO_PLUGINS"
"""The environment variable that disables plug-ins, as `--no-plugins` does."""

TAKEN = frozenset(
    """
    borrowing closed code common disclosure earlier epoch evaluation gnmt guard house internal log
    maskrcnn minigo ncf open pairing params plugin podium power preview progress rcp repo resnet
    result review round run score seed seeds speed ssd staging system throughput transformer tree
    waivers
    """.split()  # noqa: SIM905 - a set would take a line for each name
)
"""Names that plug-ins may not have, because ids of built-in rules begin with them."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_LARGEST = 1 << 16
"""Bytes of an entry point file that are read."""


class Plugin(msgspec.Struct, frozen=True):
    """A plug-in according to its distribution's metadata.

    `problem` is the reason why it cannot be loaded. `entries` are (group, value): a value is a
    module, optionally with a colon and an object in it.
    """

    name: str
    version: str
    distribution: str
    entries: tuple[tuple[str, str], ...]
    problem: str = ""


_left_out = False


def leave_out(disabled: bool) -> None:
    """Disable plug-ins from now on, or enable them again."""
    global _left_out
    _left_out = disabled


def left_out() -> bool:
    """Whether plug-ins are disabled by the option or by the environment."""
    return _left_out or os.environ.get(OFF, "") not in ("", "0")


def installed() -> tuple[Plugin, ...]:
    """The plug-ins of this environment, by name; none if they are disabled.

    This runs on every call of the command, so it reads only the entry points of distributions that
    name podium.
    """
    if left_out():
        return ()
    plugins: dict[str, Plugin] = {}
    for folder in _distributions():
        for plugin in _plugins_of(folder):
            other = plugins.get(plugin.name)
            if other is not None:
                plugin = msgspec.structs.replace(
                    other, problem=f"{plugin.distribution} has a plug-in with the same name"
                )
            plugins[plugin.name] = plugin
    return tuple(plugins[name] for name in sorted(plugins))


def _distributions() -> Iterator[str]:
    """The metadata folders of distributions with a group of podium, in the order of the path."""
    projects = set()
    for folder in places():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        metadata_names = [name for name in names if name.endswith((".dist-info", ".egg-info"))]
        for name in sorted(metadata_names):
            project = name.rpartition(".")[0].partition("-")[0].lower()
            if project not in projects and _names_podium(f"{folder}/{name}/entry_points.txt"):
                yield f"{folder}/{name}"
            projects.add(project)


def places() -> list[str]:
    """The folders from which modules are imported, without the current folder.

    `python -m podium` puts it on the path, and a submission could contain code that would run.
    """
    current_folder = os.path.realpath(os.curdir)
    return [folder for folder in sys.path if folder and os.path.realpath(folder) != current_folder]


def _names_podium(path: str) -> bool:
    # Most distributions have no such file, and all are tried on every call: no stream is made
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return b"[podium." in os.read(handle, _LARGEST)
    except OSError:
        return False
    finally:
        os.close(handle)


def _plugins_of(folder: str) -> Iterator[Plugin]:
    from importlib.metadata import Distribution

    distribution = Distribution.at(folder)
    file_name = os.path.basename(folder).rpartition(".")[0]
    try:
        project, version = distribution.metadata["Name"], distribution.version
        points = [(point.name, (point.group, point.value)) for point in distribution.entry_points]
    # Metadata can be anything, and the library that reads them may raise any exception
    except Exception as error:
        yield Plugin(file_name, "", file_name, (), f"its metadata cannot be read: {error}")
        return
    entries: dict[str, list[tuple[str, str]]] = {}
    for name, (group, value) in sorted(points):
        if group.startswith("podium."):
            entries.setdefault(name, []).append((group, value))
    for name, parts in entries.items():
        yield Plugin(name, version or "", project or "", tuple(parts), _problem(name, parts))


def _problem(name: str, parts: list[tuple[str, str]]) -> str:
    if not _NAME.fullmatch(name):
        return "invalid name; expected at most 40 lower-case letters, digits, - and _"
    if name in TAKEN:
        return "its name is reserved for built-in rules"
    unknown_groups = sorted({group for group, _ in parts if group not in GROUPS})
    if unknown_groups:
        return f"unknown group {unknown_groups[0]}; expected one of {', '.join(GROUPS)}"
    return ""
