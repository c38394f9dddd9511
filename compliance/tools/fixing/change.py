"""What `podium fix` changes: one value for each change of a file or name, and how it is made."""

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
from podium.logging_spec.reader.inflate import ZSTD, BrokenCompressionError, inflate

LARGEST_LOG = 16 << 30
"""Bytes of a log that is decompressed."""


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


def apply(root: Path, changes: Sequence[FileChange]) -> tuple[list[FileChange], list[ManualFix]]:
    """Make changes in a tree; those made, and those that failed with the system's reason."""
    done: list[FileChange] = []
    failed: list[ManualFix] = []
    # Names last: until then each path is that of the tree as it was read
    others = [each for each in changes if not each.to]
    renames = [each for each in changes if each.to]
    for change in (*others, *_in_turn(root, renames)):
        try:
            _make(root, change)
        except OSError as error:
            failed.append(ManualFix(change.path, (error.strerror or str(error)).lower()))
        else:
            done.append(change)
    return done, failed


def _in_turn(root: Path, renames: list[FileChange]) -> Iterator[FileChange]:
    """Renames one by one, each where possible once its new name is free."""
    waiting = list(renames)
    while waiting:
        free = (each for each in waiting if not os.path.lexists(root / each.to))
        change = next(free, waiting[0])
        waiting.remove(change)
        yield change


def lies_in(root: Path, path: str) -> bool:
    """Whether a path's folder is the one below the root that it names: no link leads elsewhere."""
    full = os.path.join(os.path.realpath(root), os.path.dirname(path)).rstrip("/")
    return os.path.realpath(full) == full and holds(os.path.realpath(root), full)


def _make(root: Path, change: FileChange) -> None:
    if not lies_in(root, change.path):
        raise OSError(0, "a link leads there")
    full = root / change.path
    match change.action:
        case Action.EDIT:
            _replace(full, change)
        case Action.MODE:
            if stat.S_ISLNK(os.lstat(full).st_mode):
                raise OSError(0, "it has become a link")
            os.chmod(full, change.modes[1])
        case Action.REMOVE:
            os.unlink(full)
        case Action.RENAME:
            # A rename would take the place of another file without a word
            if os.path.lexists(root / change.to):
                raise OSError(0, f"{change.to} is there already")
            os.rename(full, root / change.to)
        case Action.DECOMPRESS:
            _decompress(full, root / change.to)


def _decompress(full: Path, to: Path) -> None:
    """Write what a compressed log holds under another name, then remove the compressed one."""
    try:
        with staging(to, draft=True) as folder:
            draft = folder / "new"
            with open(draft, "xb") as out, open_plain(full) as stream:
                head = stream.read(len(ZSTD))
                stream.seek(0)
                for piece in inflate(stream, head):
                    out.write(piece)
                    if out.tell() > LARGEST_LOG:
                        raise OSError(0, "what it holds is larger than 16 GiB")
                os.fchmod(out.fileno(), stat.S_IMODE(os.fstat(stream.fileno()).st_mode))
                out.flush()
                os.fsync(out.fileno())
            # A link takes the place of no other file
            os.link(draft, to)
    except BrokenCompressionError as error:
        raise OSError(0, f"it cannot be decompressed: {error}") from None
    os.unlink(full)


def _replace(full: Path, change: FileChange) -> None:
    """Put new bytes in a file's place, with the permissions of the old."""
    with open_plain(full) as stream:
        if stream.read() != change.before:
            raise OSError(0, "it has changed meanwhile")
        mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
    with staging(full, draft=True) as folder:
        draft = folder / "new"
        with open(draft, "xb") as stream:
            stream.write(change.after)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(draft, mode)
        os.replace(draft, full)
