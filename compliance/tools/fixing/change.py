"""What `podium fix` would do, as data: one change for each file or name."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class Action(StrEnum):
    """What is done to a path."""

    DECOMPRESS = "decompress"
    EDIT = "edit"
    MODE = "mode"
    REMOVE = "remove"
    RENAME = "rename"


class FileChange(msgspec.Struct, frozen=True):
    """One change; `path` and `to` are below the submission.

    An edit has the file's bytes `before` and `after`; a change of permissions has both as modes.
    """

    action: Action
    path: str
    why: tuple[str, ...]
    to: str = ""
    before: bytes = b""
    after: bytes = b""
    modes: tuple[int, int] = (0, 0)


class ManualFix(msgspec.Struct, frozen=True):
    """What needs a person, and why: nothing is done to it."""

    path: str
    reason: str


class FixOutcome(msgspec.Struct):
    """One submission: what is to be done, or was, and what is left to a person.

    `refused` is the system's reason where changes were to be made, and none could be.
    """

    root: str
    name: str
    round: str
    changes: Sequence[FileChange] = ()
    left: Sequence[ManualFix] = ()
    refused: str = ""


Plan = FileChange | ManualFix
