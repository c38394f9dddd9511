"""A submission's tree as it lies on disk: each folder is listed once, whoever asks for it.

No link is followed out of the tree, nor in a circle, nor anything opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec


class ItemKind(StrEnum):
    """What a name in a folder is."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special file"
    UNREADABLE = "unreadable"


_KINDS = {stat.S_IFREG: ItemKind.FILE, stat.S_IFDIR: ItemKind.FOLDER, stat.S_IFLNK: ItemKind.LINK}


# gc=False: texts and numbers form no cycles, and a tree has an item for every file
class Item(msgspec.Struct, frozen=True, gc=False):
    """One name in the tree: its path below the root, as given and as shown."""

    path: str
    full: str
    name: str
    kind: ItemKind
    size: int = 0


class Folder(msgspec.Struct):
    """What one folder holds, sorted by name; `problem` says why it cannot be listed.

    `there` is False where no such folder exists.
    """

    items: list[Item] = msgspec.field(default_factory=list)
    problem: str = ""
    there: bool = True


class Disk:
    """The folders of a tree, by their paths below its root; the root's own is empty."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, Folder] = {}

    def folder(self, path: str) -> Folder:
        """What a folder holds, looked up once."""
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._look(path)
        return known

    def leads_out(self, path: str) -> bool:
        """Whether a name is a link that leads out of the tree: none is followed."""
        full = self._full(path)
        # Both are resolved, as the root itself may lie behind a link
        return os.path.islink(full) and not holds(
            os.path.realpath(self.root), os.path.realpath(full)
        )

    def follows(self, item: Item) -> bool:
        """Whether a name is a link to another folder of the tree: of a path's links the first is.

        It must not lead to a folder that it lies in.
        """
        if item.kind is not ItemKind.LINK or not os.path.isdir(item.full):
            return False
        parent, root = os.path.dirname(item.path), os.path.realpath(self.root)
        here, target = map(os.path.realpath, (os.path.dirname(item.full), item.full))
        # False below a link that was followed: so no path has two links, and none leads in a circle
        plain = here == (os.path.join(root, parent) if parent else root)
        return plain and holds(root, target) and not holds(target, here)

    def _look(self, path: str) -> Folder:
        # Folders further down come from `follows`; those at the top are asked for by name
        if path and "/" not in path and self.leads_out(path):
            return Folder(problem="a link out of the submission")
        return _listed(self._full(path), path)

    def has(self, path: str, name: str) -> bool:
        """Whether a name stands in a folder."""
        folder = self.folder(path)
        if folder.problem:  # a folder that cannot be listed may still let its files be opened
            return os.path.lexists(f"{self._full(path)}/{name}")
        return name in [item.name for item in folder.items]

    def walk(
        self, start: str = "", *, keep: bool = True, links: bool = False
    ) -> Iterator[tuple[str, Folder]]:
        """(path, folder) of each folder below `start`, parents first; not the insides of `.git`.

        Without `keep` what was not looked up before is not remembered: a tree may be large. With
        `links` those that `follows` has are gone into.
        """
        paths = [start]
        while paths:
            path = paths.pop()
            folder = self._known.get(path)
            if folder is None:
                folder = self.folder(path) if keep else self._look(path)
            yield path, folder
            # A stack gives back the last first: reversed, folders come in order
            paths += [
                item.path
                for item in reversed(folder.items)
                if (item.kind is ItemKind.FOLDER and item.name != ".git")
                or (links and self.follows(item))
            ]

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else str(self.root)


def holds(folder: str, path: str) -> bool:
    """Whether a path is a folder, or lies in it; both as `os.path.realpath` returns them."""
    # The separator keeps /tree-2 from passing for a path in /tree
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _listed(full: str, path: str) -> Folder:
    try:
        with os.scandir(full) as entries:
            items = [_item(entry, path) for entry in entries]
    except OSError as error:
        there = not isinstance(error, FileNotFoundError)
        return Folder(problem=error.strerror or type(error).__name__, there=there)
    items.sort(key=_name)
    return Folder(items)


def _name(item: Item) -> str:
    return item.name


def _item(entry: os.DirEntry[str], below: str) -> Item:
    path = f"{below}/{entry.name}" if below else entry.name
    try:
        status = entry.stat(follow_symlinks=False)
    # Removed since the folder was listed, or in a folder that may be listed but not entered
    except OSError:
        return Item(path, entry.path, entry.name, ItemKind.UNREADABLE)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), ItemKind.SPECIAL)
    return Item(path, entry.path, entry.name, kind, status.st_size)
