"""Hard-coded paths in scripts: in a home folder, or in a cluster's file system."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from podium.compliance.judging.inputs.source_files import CODE_FOLDERS
from podium.logging_spec.reader.words import finder

_ENDINGS = (
    *(".sh", ".bash", ".sbatch", ".slurm", ".sub", ".lsf", ".pbs", ".py", ".yaml", ".yml"),
    *(".toml", ".ini", ".cfg", ".conf", ".env", ".json", ".mk", ".tcl", ".pl"),
)
_NAMES = ("Dockerfile", "Makefile")

# A home folder on Windows, with either slash, perhaps a doubled backslash, or as in WSL.
# A path of any other kind must not be a part of a longer path
PATH = re.compile(
    rb"(?<![\w/])(?:[A-Za-z]:(?:\\\\?|/)|/mnt/[a-z]/)[Uu]sers(?:\\\\?|/)"
    rb"([A-Za-z0-9_][\w.@-]*)(?:(?:\\\\?|/)[\w.@+-]*)*"
    rb"|(?<![\w.~})$*/\]])"
    rb"(?:/home|/Users|/lustre\w*|/gpfs\w*|/beegfs\w*|/fsx|/nfs\w*|/afs|/ceph\w*|/panfs|/scratch\w*)"
    rb"/([A-Za-z0-9_][\w.@-]*)(?:/[\w.@+-]*)*"
)

_ROOTS = (
    *(b"/home", b"/Users", b"/lustre", b"/gpfs", b"/beegfs", b"/fsx", b"/nfs", b"/afs", b"/ceph"),
    *(b"/panfs", b"/scratch"),
)
_find_anchors = finder([*_ROOTS, b"/users", b"\\Users", b"\\users"])
"""Finds the anchors: every path has one. Each begins with its only slash, so no two overlap."""

_BEFORE_ANCHOR = (len(b"/mnt/c"), len(b"C:\\"), len(b"C:"), 0)
"""Bytes of a path before its anchor, the longest first: in WSL, in Windows, and none."""

# Placeholder names, and the default accounts of images
_ANYBODY = re.compile(
    rb"user(?:name)?s?|you|your[_-]?\w*|me|name|x+|account|root|ubuntu|ec2-user|docker|runner|"
    rb"app|work(?:space)?|mlperf|jovyan|mambauser|vscode|public|runneradmin|ContainerUser",
    re.IGNORECASE,
)
_HOMES = (b"/home", b"/Users")


class LocalPaths(NamedTuple):
    """The number of hard-coded paths in a file, and the first path with its line."""

    number: int
    first: str
    line: int


def may_hold_paths(path: str) -> bool:
    """Whether a file is a script, or the settings of a script, in the code of a submission."""
    name = path.rpartition("/")[2]
    script = name.endswith(_ENDINGS) or name.startswith(_NAMES)
    return script and path.partition("/")[0] in CODE_FOLDERS


def local_paths(data: bytes) -> LocalPaths | None:
    """The hard-coded paths in a file's content; None if it has none."""
    number, first = 0, None
    for match in path_matches(data):
        if not _stands_for_any(match):
            number, first = number + 1, first or match
    if first is None:
        return None
    line = data.count(b"\n", 0, first.start()) + 1
    return LocalPaths(number, first[0].decode("utf-8", "replace"), line)


def path_matches(data: bytes) -> Iterator[re.Match[bytes]]:
    """The matches of `PATH` in a file's content.

    The expression is tried only where an anchor allows a match: otherwise it would take most of the
    time of a check.
    """
    end = 0
    for _, anchor, _ in _find_anchors(data):
        for offset in _BEFORE_ANCHOR:
            start = anchor - offset
            match = PATH.match(data, start) if start >= end else None
            if match is not None:
                yield match
                end = match.end()
                break


def _stands_for_any(match: re.Match[bytes]) -> bool:
    """Whether a home folder is a placeholder's or a default account's."""
    windows, posix = match.groups()
    home = windows is not None or match[0].startswith(_HOMES)
    return home and _ANYBODY.fullmatch(windows or posix) is not None
