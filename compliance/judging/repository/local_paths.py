"""Paths in scripts that hold on one machine: of somebody's home, of a cluster's file system."""

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

# A home of Windows, with either slash, a backslash perhaps doubled, or as Linux on Windows has it.
# Before any other path what stands before the slash must not make it a part of another
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
"""Every path has one of these; each begins with its only slash, so no two of them overlap."""

_BEFORE_ANCHOR = (len(b"/mnt/c"), len(b"C:\\"), len(b"C:"), 0)
"""Bytes of a path before its anchor, most first: of Linux on Windows, of Windows, and none."""

# Names that stand for another, and the accounts that images come with
_ANYBODY = re.compile(
    rb"user(?:name)?s?|you|your[_-]?\w*|me|name|x+|account|root|ubuntu|ec2-user|docker|runner|"
    rb"app|work(?:space)?|mlperf|jovyan|mambauser|vscode|public|runneradmin|ContainerUser",
    re.IGNORECASE,
)
_HOMES = (b"/home", b"/Users")


class LocalPaths(NamedTuple):
    """How many such paths a file has, and the first with its line."""

    number: int
    first: str
    line: int


def may_hold_paths(path: str) -> bool:
    """Whether a file is a script, or settings of one, in the code of a submission."""
    name = path.rpartition("/")[2]
    script = name.endswith(_ENDINGS) or name.startswith(_NAMES)
    return script and path.partition("/")[0] in CODE_FOLDERS


def local_paths(data: bytes) -> LocalPaths | None:
    """The paths of one machine in a file's content; None where it has none."""
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

    The expression is only tried where an anchor allows a match: elsewhere it takes most of the time
    of a check.
    """
    end = 0
    for _, anchor, _ in _find_anchors(data):
        for before in _BEFORE_ANCHOR:
            start = anchor - before
            match = PATH.match(data, start) if start >= end else None
            if match is not None:
                yield match
                end = match.end()
                break


def _stands_for_any(match: re.Match[bytes]) -> bool:
    """Whether a home is nobody's: of a placeholder, or of an image's account."""
    windows, other = match.groups()
    home = windows is not None or match[0].startswith(_HOMES)
    return home and _ANYBODY.fullmatch(windows or other) is not None
