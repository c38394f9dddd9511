"""Whether a round's files are those that a store was made of: by their states, else by hashes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from podium.compliance.errors import NothingToJudge
from podium.compliance.files.states import State, state_of
from podium.compliance.tools.review.manifest import manifest_of
from podium.compliance.tools.review.material import Home


class Files(msgspec.Struct, frozen=True):
    """The files below a round's folder, by their paths there, each with its state.

    A store has the states alone: it may be handed on, and the folder is nobody else's business.
    """

    root: str
    states: dict[str, State]

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(state[0] for state in self.states.values())

    def hash(self) -> str:
        """A hash of every name, size and content."""
        hashed = hashlib.blake2b(digest_size=16)
        # Also of what cannot be read, and of files beyond those that a manifest has
        for path, state in sorted(self.states.items()):
            hashed.update(f"{state[0]} {path}\n".encode("utf-8", "surrogateescape"))
        for path, content in sorted(manifest_of([Home("", Path(self.root), "")]).items()):
            hashed.update(f"{content} {path}\n".encode("utf-8", "surrogateescape"))
        return hashed.hexdigest()

    def changed(self) -> str:
        """A file that is not as it was when these were looked at; empty where all are."""
        now = files_of(Path(self.root)).states
        if now == self.states:
            return ""
        differing = {*self.states.items()} ^ {*now.items()}
        return min(path for path, _ in differing)


def files_of(root: Path) -> Files:
    """The files below a folder as they are; raises NothingToJudge where there is no such folder."""
    if not root.is_dir():
        raise NothingToJudge(f"no such folder: {root}")
    return Files(os.path.realpath(root), dict(_states(root)))


def _states(root: Path) -> Iterator[tuple[str, State]]:
    for folder, folders, names in os.walk(root):
        # A clone's own bookkeeping changes with every fetch
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(folder, name)
            try:
                told = os.lstat(path)
            except OSError:
                continue
            yield os.path.relpath(path, root), state_of(told)
