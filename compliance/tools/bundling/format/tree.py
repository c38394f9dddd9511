"""The members for a tree, in an order that does not depend on file system or locale."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.judging.inputs.listing import holds
from podium.compliance.text.terminal import clean
from podium.compliance.tools.bundling.format.paths import (
    MemberKind,
    TakenPaths,
    parts_of,
    refuse_on_windows,
)
from podium.compliance.tools.bundling.format.refusal import Refused


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file, folder or link of a tree; `name` is its path in the archive."""

    name: str
    path: str
    kind: MemberKind
    size: int = 0
    changed_ns: int = 0
    executable: bool = False
    target: str = ""


def entries_of(tree: Path, top: str) -> list[TreeEntry]:
    """The content of a tree as members below the folder `top`, sorted by the bytes of their names.

    Raises Refused for content that an archive must not have: links that leave the tree, pipes,
    sockets, devices, names that collide on some file system or that Windows does not support, and
    the git folder.
    """
    root = str(tree.resolve())
    entries = sorted(_walk(root, top, root), key=_order)
    paths = TakenPaths()
    for entry in (TreeEntry(top, root, MemberKind.FOLDER), *entries):
        parts = parts_of(entry.name, clean(entry.name))
        # A reviewer may unpack the tree on Windows
        refuse_on_windows(parts, clean(entry.name))
        paths.take(parts, entry.kind)
    return [TreeEntry(top, root, MemberKind.FOLDER), *entries]


# By parts: as full strings, `a-b` would come between the folder `a` and its content `a/b`
def _order(entry: TreeEntry) -> list[bytes]:
    return os.fsencode(entry.name).split(b"/")


# Not os.walk, which silently skips a folder that it cannot read
def _walk(folder: str, name: str, root: str) -> Iterator[TreeEntry]:
    waiting = [(folder, name)]
    while waiting:
        folder, name = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                children = list(entries)
        except OSError as error:
            raise Refused(f"{clean(name)}: cannot be read: {error.strerror}") from None
        for child in children:
            path = f"{name}/{child.name}"
            entry = _entry(child.path, path, root)
            if entry.kind is MemberKind.FOLDER:
                waiting.append((child.path, path))
            yield entry


def _entry(path: str, name: str, root: str) -> TreeEntry:
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return TreeEntry(name, path, MemberKind.LINK, target=_target(path, name, root))
    except OSError as error:
        raise Refused(f"{clean(name)}: cannot be read: {error.strerror}") from None
    if stat.S_ISDIR(status.st_mode):
        return TreeEntry(name, path, MemberKind.FOLDER)
    if not stat.S_ISREG(status.st_mode):
        raise Refused(f"{clean(name)}: a pipe, socket or device cannot be bundled")
    executable = bool(status.st_mode & stat.S_IXUSR)
    # The time is not archived: it detects a file that changes before it is read
    return TreeEntry(name, path, MemberKind.FILE, status.st_size, status.st_mtime_ns, executable)


def _target(path: str, name: str, root: str) -> str:
    target = os.readlink(path)
    if not stays_below(path, target, root):
        raise Refused(f"{clean(name)}: the link points outside the tree, to {clean(target)}")
    return target


def stays_below(path: str, target: str, root: str) -> bool:
    """Whether a link at `path` to `target` is relative and ends below the resolved `root`."""
    if os.path.isabs(target) or target.startswith("\\") or not target:
        return False
    try:
        # Strict, because otherwise it returns an arbitrary path for a loop of links
        end = os.path.realpath(path, strict=True)
    # A broken link is allowed if its target is inside
    except FileNotFoundError:
        end = os.path.realpath(path)
    except OSError:
        return False  # a loop of links, or a name that is too long
    return holds(root, end)
