"""Waivers while they are applied, and the file that has them in a tree."""

from __future__ import annotations

import os
import stat
from datetime import date
from pathlib import Path
from typing import Protocol

import msgspec

from podium.rules.finding import Finding

WAIVERS_FILE = "waivers.toml"
LARGEST_FILE = 1 << 20
"""Bytes; files that people write by hand are far smaller."""


class Waiver(Protocol):
    """One exception, as `file` reads it, whose model is slow to import; few trees have waivers."""

    @property
    def rule(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def who(self) -> str: ...
    @property
    def until(self) -> date: ...

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is of this rule and at this place."""


class Waivers(msgspec.Struct, frozen=True):
    """The waivers of one file; `path` is shown in reports, `lines` has the first line of each."""

    path: str = WAIVERS_FILE
    items: tuple[Waiver, ...] = ()
    lines: tuple[int | None, ...] = ()


def plain_file(path: Path) -> bytes:
    """The bytes of a small regular file; raises OSError for links and anything else."""
    status = os.lstat(path)
    # With a link, a submission could make a report quote any file on the reader's machine
    if stat.S_ISLNK(status.st_mode):
        raise OSError(0, "it is a link; expected the file itself")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(0, "it is not a regular file")
    if status.st_size > LARGEST_FILE:
        raise OSError(0, f"it is larger than {LARGEST_FILE >> 20} MiB")
    return path.read_bytes()
