"""Compare a work tree with a commit byte by byte, without attributes, index or settings."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.tools.packing.git.objects import FOLDER, LINK, Entry, Objects, Tree, hasher

_BLOCK = 1 << 20
_THREADS = 4


def differing(
    root: Path, tree: str, objects: Objects, *, names: frozenset[str] | None = None
) -> Iterator[str]:
    """Paths below `root` that differ from a tree in git: changed, new, deleted, submodules.

    A folder represents its files if none of them is left. With `names`, only these top-level
    names are compared. Only folders that both sides have are read, however many a hostile store
    claims to have.
    """
    level = [("", tree)]
    with ThreadPoolExecutor(_THREADS) as pool:
        while level:
            trees = objects.trees([oid for _, oid in level])
            deeper: list[tuple[str, str]] = []
            files: list[tuple[str, Entry]] = []
            for prefix, oid in level:
                place = _Place(prefix, trees[oid], names if not prefix else None)
                yield from place.one_sided(root, deeper, files)
            same = pool.map(lambda pair: is_same(root / pair[0], pair[1]), files)
            yield from (path for (path, _), equal in zip(files, same, strict=True) if not equal)
            level = deeper


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder on both sides; if `names` is set, only these are compared."""

    prefix: str
    tree: Tree
    names: frozenset[str] | None

    def one_sided(
        self, root: Path, deeper: list[tuple[str, str]], files: list[tuple[str, Entry]]
    ) -> Iterator[str]:
        """The paths that one side lacks; common paths are added to the folders or the files."""
        missing = {os.fsdecode(name): entry for name, entry in self.tree.items()}
        if self.names is not None:
            missing = {name: missing[name] for name in missing if name in self.names}
        for child in self._found(root):
            path = self.prefix + child.name
            entry = missing.pop(child.name, None)
            folder = child.is_dir(follow_symlinks=False)
            if entry is None:
                yield from _files_in(root, path) if folder else (path,)
            elif folder and entry.mode == FOLDER:
                deeper.append((path + "/", entry.oid))
            elif folder or entry.mode == FOLDER:
                yield path
            else:
                files.append((path, entry))
        yield from (self.prefix + name for name in missing)

    def _found(self, root: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(root / self.prefix) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            # All files that git has there count as deleted; the check then reports the reason
            return []
        if self.names is not None:
            return [child for child in children if child.name in self.names]
        return [child for child in children if self.prefix or child.name != ".git"]


def _files_in(root: Path, folder: str) -> Iterator[str]:
    """The files in a new folder, or the folder itself if it is empty."""
    empty = True
    for parent, folders, names in os.walk(root / folder):
        links = (name for name in folders if os.path.islink(os.path.join(parent, name)))
        for name in (*names, *links):
            empty = False
            yield os.path.relpath(os.path.join(parent, name), root)
    if empty:
        yield folder


def is_same(path: Path, entry: Entry) -> bool:
    """Whether a file or a link equals the one in git, byte by byte.

    Ignores the executable bit: it changes no verdict, and not every file system has it.
    """
    try:
        return path.is_symlink() == (entry.mode == LINK) and (
            blob_id(path, len(entry.oid)) == entry.oid
        )
    except OSError:
        # The file is then checked, and the check reports why it cannot be read
        return False


def blob_id(path: Path, digits: int) -> str:
    """The object id of a file or a link; empty for any other kind. Raises OSError."""
    digest = hasher(digits)
    if path.is_symlink():
        target = os.fsencode(os.readlink(path))
        digest.update(b"blob %d\0" % len(target) + target)
        return digest.hexdigest()
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return ""
        digest.update(b"blob %d\0" % status.st_size)
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
