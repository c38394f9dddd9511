"""The content of a round's folder, which decides whether a round has changed."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from podium.compliance.errors import NothingToJudge
from podium.compliance.files.states import State, settled, state_of
from podium.compliance.judging.cache.kept import hash_of_file
from podium.compliance.judging.inputs.round_selection import configured_deadline, configured_rules

THREADS = 2
"""Hashing releases Python's lock: one thread reads while another computes."""


class Entry(msgspec.Struct, frozen=True):
    """A file, a link or a folder; files have a state, links have a target."""

    kind: str
    state: State | None = None
    target: str = ""


class RoundFiles(msgspec.Struct, frozen=True):
    """The entries below a round's folder, by path, and the time of listing (ns since 1970)."""

    root: str
    entries: dict[str, Entry]
    listed_ns: int

    @property
    def states(self) -> dict[str, State]:
        """The states of the files."""
        return {path: entry.state for path, entry in self.entries.items() if entry.state}

    @property
    def count(self) -> int:
        """The number of files and links."""
        return sum(entry.kind != "folder" for entry in self.entries.values())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(state[0] for state in self.states.values())

    def hash(self) -> str:
        """A hash of every name, content and link target, and of the content of a podium.toml.

        The times of files do not count: a different file on another file system may have the same.
        """
        hashed = hashlib.blake2b(digest_size=16)
        # The nearest podium.toml may be above the folder
        configured = (configured_rules(self.root), configured_deadline(self.root))
        hashed.update(repr(configured).encode("utf-8", "surrogatepass"))
        paths = sorted(self.entries)
        with ThreadPoolExecutor(THREADS) as pool:
            for path, content in zip(paths, pool.map(self._content, paths), strict=True):
                name = os.fsencode(path)
                line = b"%s %d %d " % (self.entries[path].kind.encode(), len(name), len(content))
                hashed.update(line + name + content)
        return hashed.hexdigest()

    def _content(self, path: str) -> bytes:
        entry = self.entries[path]
        if entry.kind == "file":
            return hash_of_file(os.path.join(self.root, path)) or b"unreadable"
        return os.fsencode(entry.target)

    def changed(self, content: str) -> str:
        """A file that changed since the listing; empty if none did.

        `content` is the hash at that time. A file that was new then may have changed within one
        clock tick, so its content is compared as well.
        """
        now = files_of(Path(self.root))
        if now.entries != self.entries:
            differing = {*self.entries.items()} ^ {*now.entries.items()}
            return min(path for path, _ in differing)
        listed_ns = self.listed_ns
        unsettled = [path for path, state in self.states.items() if not settled(state, listed_ns)]
        return min(unsettled) if unsettled and now.hash() != content else ""


def files_of(root: Path) -> RoundFiles:
    """The files below a folder; raises NothingToJudge if the folder does not exist."""
    if not root.is_dir():
        raise NothingToJudge(f"no such folder: {root}")
    listed_ns = time.time_ns()
    return RoundFiles(str(root.absolute()), dict(_entries(root)), listed_ns)


def _entries(root: Path) -> Iterator[tuple[str, Entry]]:
    for folder, folders, names in os.walk(root):
        # The .git folder of a clone changes with every fetch
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *names):
            path = os.path.join(folder, name)
            try:
                entry = _entry(path)
            except OSError:
                continue
            yield os.path.relpath(path, root), entry


def _entry(path: str) -> Entry:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return Entry("link", target=os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return Entry("folder")
    return Entry("file", state_of(status))
