"""The changes of `podium fix`: one value per change of a file or a name, and its execution."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from podium.compliance.files.staging import staging
from podium.compliance.judging.inputs.listing import holds
from podium.compliance.judging.inputs.source_files import open_plain
from podium.logging_spec.reader.inflate import MAGIC, BrokenCompressionError, inflate

LARGEST_LOG = 16 << 30
"""The largest decompressed log, in bytes."""


class Action(StrEnum):
    """The kind of a change."""

    DECOMPRESS = "decompress"
    EDIT = "edit"
    MODE = "mode"
    REMOVE = "remove"
    RENAME = "rename"


class FileChange(msgspec.Struct, frozen=True):
    """One change; `path` and `to` are relative to the submission.

    An edit has the bytes of the file `before` and `after`. A permission change has the old and the
    new mode.
    """

    action: Action
    path: str
    why: tuple[str, ...]
    to: str = ""
    before: bytes = b""
    after: bytes = b""
    modes: tuple[int, int] = (0, 0)


class ManualFix(msgspec.Struct, frozen=True):
    """A path that the user must fix, with the reason."""

    path: str
    reason: str


class FixOutcome(msgspec.Struct):
    """One submission: the planned or finished changes, and the paths that the user must fix.

    `refused` is the error of the system if it has prevented all changes.
    """

    root: str
    name: str
    round: str
    changes: Sequence[FileChange] = ()
    left: Sequence[ManualFix] = ()
    refused: str = ""


Plan = FileChange | ManualFix


def apply(root: Path, changes: Sequence[FileChange]) -> tuple[list[FileChange], list[ManualFix]]:
    """Make changes in a tree; returns the finished changes, and the failures with the reason."""
    applied: list[FileChange] = []
    failed: list[ManualFix] = []
    # Renames last, so that all other changes can use the original paths
    others = [change for change in changes if not change.to]
    renames = [change for change in changes if change.to]
    for change in (*others, *_in_turn(root, renames)):
        try:
            _make(root, change)
        except OSError as error:
            failed.append(ManualFix(change.path, (error.strerror or str(error)).lower()))
        else:
            applied.append(change)
    return applied, failed


def _in_turn(root: Path, renames: list[FileChange]) -> Iterator[FileChange]:
    """The renames in an order in which each new name is free, if possible."""
    waiting = list(renames)
    while waiting:
        free = (rename for rename in waiting if not os.path.lexists(root / rename.to))
        change = next(free, waiting[0])
        waiting.remove(change)
        yield change


def lies_in(root: Path, path: str) -> bool:
    """Whether the folder of a path is really below the root, without links on the way."""
    full = os.path.join(os.path.realpath(root), os.path.dirname(path)).rstrip("/")
    return os.path.realpath(full) == full and holds(os.path.realpath(root), full)


def _make(root: Path, change: FileChange) -> None:
    if not lies_in(root, change.path):
        raise OSError(0, "the path goes through a link")
    full = root / change.path
    match change.action:
        case Action.EDIT:
            _replace(full, change)
        case Action.MODE:
            if stat.S_ISLNK(os.lstat(full).st_mode):
                raise OSError(0, "it is now a link")
            os.chmod(full, change.modes[1])
        case Action.REMOVE:
            os.unlink(full)
        case Action.RENAME:
            # A rename would silently replace another file
            if os.path.lexists(root / change.to):
                raise OSError(0, f"{change.to} already exists")
            os.rename(full, root / change.to)
        case Action.DECOMPRESS:
            _decompress(full, root / change.to)


def _decompress(full: Path, to: Path) -> None:
    """Write the content of a compressed log under its new name, then remove the compressed log."""
    try:
        with staging(to, draft=True) as folder:
            draft = folder / "new"
            with open(draft, "xb") as out, open_plain(full) as stream:
                head = stream.read(MAGIC)
                stream.seek(0)
                for piece in inflate(stream, head):
                    out.write(piece)
                    if out.tell() > LARGEST_LOG:
                        raise OSError(0, "its content is larger than 16 GiB")
                os.fchmod(out.fileno(), stat.S_IMODE(os.fstat(stream.fileno()).st_mode))
                out.flush()
                os.fsync(out.fileno())
            # Creating a link never replaces another file
            os.link(draft, to)
    except BrokenCompressionError as error:
        raise OSError(0, f"it cannot be decompressed: {error}") from None
    os.unlink(full)


def _replace(full: Path, change: FileChange) -> None:
    """Replace the content of a file, and keep its permissions."""
    with open_plain(full) as stream:
        if stream.read() != change.before:
            raise OSError(0, "it has changed in the meantime")
        mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    with staging(full, draft=True) as folder:
        draft = folder / "new"
        with open(draft, "xb") as stream:
            stream.write(change.after)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(draft, mode)
        os.replace(draft, full)
