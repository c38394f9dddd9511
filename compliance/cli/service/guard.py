"""The guard that keeps the process of an answer inside the served folder."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

from podium.compliance.judging.inputs.boundary import outside
from podium.compliance.judging.inputs.listing import holds

DEVICES = frozenset({os.devnull, "/dev/random", "/dev/urandom"})
"""Files outside the folder that Python's standard library opens."""

OPENED, LISTED = "open", frozenset({"os.listdir", "os.scandir"})
"""Python's audit events of opening a file and listing a folder."""


class Guard:
    """Refuses files and folders outside the root, except those that Python and podium need.

    The commands follow no link out of the root and report such links. This guard applies to
    accesses that they may miss, and to the code of libraries and plug-ins.
    """

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        folders = (*sys.path, sys.prefix, sys.base_prefix, sys.exec_prefix)
        self.code = tuple({os.path.abspath(folder) for folder in folders if folder})

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Python's audit hook; raises PermissionError, as for a file without read permission."""
        if event != OPENED and event not in LISTED:
            return
        path = os.curdir if arguments[0] is None else arguments[0]
        # A number is a file that is already open; a new file is made for this process
        if isinstance(path, int) or (event == OPENED and _is_made(arguments[2])):
            return
        if not self._allowed(os.fsdecode(path)):
            raise PermissionError(errno.EACCES, "outside the served folder", path)

    def _allowed(self, path: str) -> bool:
        absolute = os.path.abspath(path)
        if holds(self.root, absolute):
            return not outside(absolute)
        return absolute in DEVICES or any(holds(folder, absolute) for folder in self.code)


def _is_made(flags: Any) -> bool:
    required = os.O_CREAT | os.O_EXCL
    return isinstance(flags, int) and flags & required == required
