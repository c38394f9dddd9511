"""What a round's folder holds: by its content alone a round is known to be unchanged."""

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
"""The hash is computed without Python's lock: one thread reads while another computes."""


class Entry(msgspec.Struct, frozen=True):
    """A file, a link or a folder; the state is that of a file, the target that of a link."""

    kind: str
    state: State | None = None
    target: str = ""


class RoundFiles(msgspec.Struct, frozen=True):
    """What lies below a round's folder, by path, and when it was listed (ns since 1970)."""

    root: str
    entries: dict[str, Entry]
    listed_ns: int

    @property
    def states(self) -> dict[str, State]:
        """The states of the files."""
        return {path: each.state for path, each in self.entries.items() if each.state}

    @property
    def count(self) -> int:
        """The number of files and links."""
        return sum(each.kind != "folder" for each in self.entries.values())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(state[0] for state in self.states.values())

    def hash(self) -> str:
        """A hash of every name, content and target of a link, and of what a podium.toml says.

        The times of a file do not count: another file system may show another file with the same.
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
        """A file that is not as it was when these were listed; empty where all are.

        `content` is the hash of then. A file that was still new may have changed within one tick of
        its clock, so its content is compared as well.
        """
        now = files_of(Path(self.root))
        if now.entries != self.entries:
            differing = {*self.entries.items()} ^ {*now.entries.items()}
            return min(path for path, _ in differing)
        unsettled = [path for path, state in self.states.items() if self._is_new(state)]
        return min(unsettled) if unsettled and now.hash() != content else ""

    def _is_new(self, state: State) -> bool:
        return not settled(state, self.listed_ns)


def files_of(root: Path) -> RoundFiles:
    """The files below a folder; raises NothingToJudge where there is no such folder."""
    if not root.is_dir():
        raise NothingToJudge(f"no such folder: {root}")
    listed_ns = time.time_ns()
    return RoundFiles(str(root.absolute()), dict(_entries(root)), listed_ns)


def _entries(root: Path) -> Iterator[tuple[str, Entry]]:
    for folder, folders, names in os.walk(root):
        # A clone's own bookkeeping changes with every fetch
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
