"""Paths in scripts that hold on one machine: of somebody's home, of a cluster's file system."""

from __future__ import annotations

import re
from typing import NamedTuple

from podium.compliance.judging.inputs.source_files import CODE_FOLDERS

_ENDINGS = (
    *(".sh", ".bash", ".sbatch", ".slurm", ".sub", ".lsf", ".pbs", ".py", ".yaml", ".yml"),
    *(".toml", ".ini", ".cfg", ".conf", ".env", ".json", ".mk", ".tcl", ".pl"),
)
_NAMES = ("Dockerfile", "Makefile")

# A home of Windows, with either slash, a backslash perhaps doubled, or as Linux on Windows has it.
# Before any other path what stands before the slash must not make it a part of another
_PATH = re.compile(
    rb"(?<![\w/])(?:[A-Za-z]:(?:\\\\?|/)|/mnt/[a-z]/)[Uu]sers(?:\\\\?|/)"
    rb"([A-Za-z0-9_][\w.@-]*)(?:(?:\\\\?|/)[\w.@+-]*)*"
    rb"|(?<![\w.~})$*/\]])"
    rb"(?:/home|/Users|/lustre\w*|/gpfs\w*|/beegfs\w*|/fsx|/nfs\w*|/afs|/ceph\w*|/panfs|/scratch\w*)"
    rb"/([A-Za-z0-9_][\w.@-]*)(?:/[\w.@+-]*)*"
)

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
    """The paths of one machine in a text; None where it has none."""
    matches = [each for each in _PATH.finditer(data) if not _stands_for_any(each)]
    if not matches:
        return None
    first = matches[0]
    line = data.count(b"\n", 0, first.start()) + 1
    return LocalPaths(len(matches), first[0].decode("utf-8", "replace"), line)


def _stands_for_any(match: re.Match[bytes]) -> bool:
    """Whether a home is nobody's: of a placeholder, or of an image's account."""
    windows, other = match.groups()
    home = windows is not None or match[0].startswith(_HOMES)
    return home and _ANYBODY.fullmatch(windows or other) is not None
