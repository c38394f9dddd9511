"""The boundary: the folder that `podium serve` serves, and that no call leaves.

It is an environment variable, so that every process that checks files has it.
"""

from __future__ import annotations

import os
from pathlib import Path

from podium.compliance.judging.inputs.listing import holds

VARIABLE = "PODIUM_BOUNDARY"


def set_boundary(root: Path) -> None:
    """Restrict this process, and its child processes, to a folder."""
    os.environ[VARIABLE] = os.path.realpath(root)


def outside(path: str | Path) -> bool:
    """Whether a path, with its links resolved, is outside the boundary; False without one."""
    root = os.environ.get(VARIABLE, "")
    return bool(root) and not holds(root, os.path.realpath(path))


def bounded() -> bool:
    """Whether there is a boundary."""
    return bool(os.environ.get(VARIABLE, ""))
