"""The listing of a submission's tree, in which each folder is listed once.

No link is followed out of the tree or in a circle. No file is opened.
"""

from __future__ import annotations

import operator
import os
import stat
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import msgspec


class ItemKind(StrEnum):
    """The kind of an item in a folder."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special file"
    UNREADABLE = "unreadable"


_KINDS = {stat.S_IFREG: ItemKind.FILE, stat.S_IFDIR: ItemKind.FOLDER, stat.S_IFLNK: ItemKind.LINK}


# gc=False: strings and numbers form no cycles, and a tree has an item for every file
class Item(msgspec.Struct, frozen=True, gc=False):
    """One item in the tree: `path` is relative to the root, `full` includes the root."""

    path: str
    full: str
    name: str
    kind: ItemKind
    size: int = 0


class Folder(msgspec.Struct):
    """The items of one folder, sorted by name; `problem` says why it cannot be listed.

    `there` is False if no such folder exists.
    """

    items: list[Item] = msgspec.field(default_factory=list)
    problem: str = ""
    there: bool = True


class Disk(msgspec.Struct, eq=False):
    """The folders of a tree, by their paths relative to its root; the root's path is empty."""

    root: Path
    known: dict[str, Folder] = {}

    def folder(self, path: str) -> Folder:
        """The content of a folder, which is listed once."""
        folder = self.known.get(path)
        if folder is None:
            folder = self.known[path] = self._look(path)
        return folder

    def leads_out(self, path: str) -> bool:
        """Whether a path is a link out of the tree, which is never followed."""
        full_path = self._full(path)
        # Both are resolved, because the root itself may be behind a link
        return os.path.islink(full_path) and not holds(
            os.path.realpath(self.root), os.path.realpath(full_path)
        )

    def follows(self, item: Item) -> bool:
        """Whether an item is a link that is followed: to another folder of the tree.

        It must not lead to a folder that contains it. In a path only the first link is followed.
        """
        if item.kind is not ItemKind.LINK or not os.path.isdir(item.full):
            return False
        parent, root = os.path.dirname(item.path), os.path.realpath(self.root)
        real_folder, target = map(os.path.realpath, (os.path.dirname(item.full), item.full))
        # False below a followed link: so no path has two links, and none is circular
        is_direct = real_folder == (os.path.join(root, parent) if parent else root)
        return is_direct and holds(root, target) and not holds(target, real_folder)

    def _look(self, path: str) -> Folder:
        # Deeper folders come from `follows`; folders at the top are requested by name
        if path and "/" not in path and self.leads_out(path):
            return Folder(problem="symbolic link points outside the submission")
        try:
            with os.scandir(self._full(path)) as entries:
                items = [_item(entry, path) for entry in entries]
        except OSError as error:
            exists = not isinstance(error, FileNotFoundError)
            return Folder(problem=error.strerror or type(error).__name__, there=exists)
        items.sort(key=operator.attrgetter("name"))
        return Folder(items)

    def has(self, path: str, name: str) -> bool:
        """Whether a folder contains a name."""
        folder = self.folder(path)
        if folder.problem:  # files in a folder that cannot be listed may still be readable
            return os.path.lexists(f"{self._full(path)}/{name}")
        return name in [item.name for item in folder.items]

    def walk(
        self, start: str = "", *, keep: bool = True, links: bool = False
    ) -> Iterator[tuple[str, Folder]]:
        """(path, folder) of each folder below `start`, parents first, without content of `.git`.

        Without `keep`, new listings are not kept: a tree may be large. With `links`, links are
        followed if `follows` allows it.
        """
        paths = [start]
        while paths:
            path = paths.pop()
            folder = self.known.get(path)
            if folder is None:
                folder = self.folder(path) if keep else self._look(path)
            yield path, folder
            # The stack returns the last item first: reversed, folders come in order
            paths += [
                item.path
                for item in reversed(folder.items)
                if (item.kind is ItemKind.FOLDER and item.name != ".git")
                or (links and self.follows(item))
            ]

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else str(self.root)


def holds(folder: str, path: str) -> bool:
    """Whether a path is a folder or is in it; both as `os.path.realpath` returns them."""
    # The separator prevents /tree-2 from counting as a path in /tree
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _item(entry: os.DirEntry[str], parent: str) -> Item:
    path = f"{parent}/{entry.name}" if parent else entry.name
    try:
        status = entry.stat(follow_symlinks=False)
    # Removed since the listing, or in a folder that may be listed but not entered
    except OSError:
        return Item(path, entry.path, entry.name, ItemKind.UNREADABLE)
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), ItemKind.SPECIAL)
    return Item(path, entry.path, entry.name, kind, status.st_size)
