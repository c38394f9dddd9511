"""The files known when another file is read: their submitters, and the base of the file."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from podium.compliance.tools.review.code.inventory import CodeFile, CodeTree, benchmark_of
from podium.compliance.tools.review.code.similarity import LEAST_KEPT, Sketches, kept
from podium.compliance.tools.review.code.vendored import VendoredFolder, version_of

MOST_COMPARED = 8
"""Maximum numbers of files with the same path, and with similar lines, compared with a file."""

LEAST_RELATED = 0.2
"""Minimum share of its lines in another file for which that file is named."""


def same_submitter(first: CodeTree, second: CodeTree) -> bool:
    """Whether two trees are of one submitter: the same name, except for case."""
    return first.submitter.casefold() == second.submitter.casefold()


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A known file: the number of its tree, and the file."""

    tree: int
    file: CodeFile


class Base(msgspec.Struct, frozen=True):
    """A known file that another one is compared with; `kept` is the share of common lines."""

    entry: Entry
    kept: float

    @property
    def close(self) -> bool:
        """Whether the difference is shorter to read than the file."""
        return self.kept >= LEAST_KEPT


class Copy(msgspec.Struct, frozen=True):
    """A known copy of a vendored library."""

    tree: int
    version: str
    files: dict[str, CodeFile]


class Pool:
    """The files known so far, in the order in which they were read."""

    def __init__(self) -> None:
        self.trees: list[CodeTree] = []
        self._numbers: dict[Path, int] = {}
        self._entries: list[Entry] = []
        self._by_hash: dict[str, list[Entry]] = {}
        self._by_place: dict[tuple[str, str], list[Entry]] = defaultdict(list)
        self._sketches = Sketches()
        self._copies: dict[str, list[Copy]] = defaultdict(list)

    # --- additions ---

    def add(self, tree: CodeTree, file: CodeFile, *, vendored: bool = False) -> None:
        """Add a file, unless the tree already has its content."""
        number = self._number(tree)
        holders = self._by_hash.setdefault(file.hash, [])
        is_new = not holders
        if holders and holders[-1].tree == number:
            return
        entry = Entry(number, file)
        holders.append(entry)
        if file.kind is not None or vendored:
            return
        self._by_place[benchmark_of(file.path)].append(entry)
        if is_new:
            self._sketches.add(len(self._entries), tree.root / file.path)
            self._entries.append(entry)

    def add_library(self, tree: CodeTree, library: VendoredFolder) -> None:
        """Add a vendored library."""
        files = {library.inside(file): file for file in library.files}
        copy = Copy(self._number(tree), version_of(tree.root, library), files)
        self._copies[library.name].append(copy)
        for file in library.files:
            self.add(tree, file, vendored=True)

    def _number(self, tree: CodeTree) -> int:
        if tree.root not in self._numbers:
            self._numbers[tree.root] = len(self.trees)
            self.trees.append(tree)
        return self._numbers[tree.root]

    # --- queries ---

    def path(self, entry: Entry) -> Path:
        """The path of a known file."""
        return self.trees[entry.tree].root / entry.file.path

    def title(self, number: int, reader: CodeTree) -> str:
        """The name of a tree for the reader of another: `own 5.0`, `NVIDIA 5.1`, `reference`."""
        tree = self.trees[number]
        is_own = same_submitter(tree, reader)
        return f"{'own' if is_own else tree.submitter} {tree.title}".strip()

    def identical(self, file: CodeFile, reader: CodeTree) -> Entry | None:
        """The file with the same content: the reader's own, else the first known one."""
        holders = self._by_hash.get(file.hash, [])
        own_entries = (entry for entry in holders if self._is_own(entry.tree, reader))
        return next(own_entries, holders[0] if holders else None)

    def base(self, file: CodeFile, reader: CodeTree) -> Base | None:
        """The known file that has most lines of another; the first known one of equals."""
        path = reader.root / file.path
        candidates = self._by_place.get(benchmark_of(file.path), [])
        own_candidates = [
            candidate for candidate in candidates if self._is_own(candidate.tree, reader)
        ]
        similar = [self._entries[number] for number in self._sketches.nearest(path, MOST_COMPARED)]
        best: Base | None = None
        for entry in (*own_candidates[-MOST_COMPARED:], *candidates[:MOST_COMPARED], *similar):
            part = kept(self.path(entry), path)
            if best is None or part > best.kept:
                best = Base(entry, part)
        return best if best is not None and best.kept >= LEAST_RELATED else None

    def library(self, name: str, version: str, reader: CodeTree) -> Copy | None:
        """The copy of a library to compare with: same version first, then the reader's own."""
        copies = self._copies.get(name, [])
        return min(
            copies,
            key=lambda copy: (copy.version != version, not self._is_own(copy.tree, reader)),
            default=None,
        )

    def base_in(self, copy: Copy | None, path: str) -> Base | None:
        """The file at a path of a library's copy."""
        file = None if copy is None else copy.files.get(path)
        return None if copy is None or file is None else Base(Entry(copy.tree, file), 1.0)

    def _is_own(self, number: int, reader: CodeTree) -> bool:
        return same_submitter(self.trees[number], reader)
