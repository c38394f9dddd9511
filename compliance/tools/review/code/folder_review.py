"""The code of one submitter for one benchmark, compared with all code known at that time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from podium.compliance.judging.inputs.source_files import read_plain
from podium.compliance.tools.review.code.configurations import configurations
from podium.compliance.tools.review.code.diffs import Room, Unread, diffs
from podium.compliance.tools.review.code.inventory import CodeFile, CodeTree, benchmark_of
from podium.compliance.tools.review.code.log_heads import LogHead
from podium.compliance.tools.review.code.model import Cell, Library, ListedFile
from podium.compliance.tools.review.code.pool import Copy, Pool, same_submitter
from podium.compliance.tools.review.code.read_marks import ReadMark
from podium.compliance.tools.review.code.reading_order import CodeFolder
from podium.compliance.tools.review.code.vendored import (
    VendoredFolder,
    split,
    usual,
    version_of,
)

MOST_PATCHED = 50
"""Maximum number of files of a library that differ from a copy; above it, the version differs."""

MOST_UNREAD = 5000
"""Maximum number of unread files of a cell for which a base is searched; the others are new."""

MOST_LISTED = 500
_LOGS = (b":::MLLOG", b"mllogger", b"run_stop", b"RUN_STOP")
_LOGGING_BYTES = 1 << 18


class Known(msgspec.Struct, frozen=True):
    """The state that all folders of code of a review share.

    With `grows`, files become known after they are read. `shown` are the hunks of the earlier
    review; `room` is the space left for the hunks of this one.
    """

    pool: Pool
    marks: Mapping[str, ReadMark]
    shown: frozenset[str]
    grows: bool
    room: Room


class _Tally(msgspec.Struct):
    """Counts and lists that are collected while a folder is read."""

    identical: int = 0
    read: int = 0
    sources: Counter[str] = msgspec.field(default_factory=Counter)
    unread: list[Unread] = msgspec.field(default_factory=list)
    listed: list[ListedFile] = msgspec.field(default_factory=list)
    libraries: list[Library] = msgspec.field(default_factory=list)


def review_folder(
    folder: CodeFolder, logs: Sequence[LogHead], known: Known, *, compare: bool
) -> Cell:
    """One cell of the review; without `compare`, its files only become known."""
    tree, tally = folder.tree, _Tally()
    own_files, libraries = split(folder.files)
    for library in libraries:
        _read_library(tree, library, known, tally)
    for file in own_files:
        _read_file(tree, file, known, tally)
    file_diffs = diffs(tree, tally.unread, known.pool, known.shown, known.room) if compare else []
    kinds = Counter(diff.kind for diff in file_diffs)
    return Cell(
        submitter=tree.submitter,
        benchmark=folder.benchmark or "shared",
        path=tree.shown(_top(folder)),
        order=folder.reason,
        base=usual([*tally.sources.elements(), *(diff.base for diff in file_diffs if diff.base)]),
        to_read=sum(diff.to_read for diff in file_diffs),
        files=len(folder.files),
        lines=sum(file.lines for file in folder.files),
        identical=tally.identical,
        read=tally.read,
        changed=kinds["changed"] + kinds["moved"],
        new=kinds["new"],
        vendored=sum(library.files for library in tally.libraries),
        unverified=sum(library.unverified for library in tally.libraries),
        listed=len(tally.listed),
        sources=dict(tally.sources.most_common()),
        diffs=file_diffs,
        libraries=tally.libraries,
        others=tally.listed[:MOST_LISTED],
        configurations=configurations(tree, own_files, logs, folder.benchmark) if compare else (),
    )


def _top(folder: CodeFolder) -> str:
    return "/".join(folder.files[0].path.split("/")[: 2 if folder.benchmark else 1])


def _read_file(tree: CodeTree, file: CodeFile, known: Known, tally: _Tally) -> None:
    pool = known.pool
    same = pool.identical(file, tree)
    title = pool.title(same.tree, tree) if same is not None else ""
    if file.kind is not None:
        tally.listed.append(
            ListedFile(
                path=tree.shown(file.path),
                kind=file.kind,
                size=file.size,
                hash=file.hash,
                state="other" if same is None else "identical",
                base=title,
            )
        )
    elif file.hash in known.marks:
        tally.read += 1
    elif same is not None:
        tally.identical += 1
        tally.sources[title] += 1
    else:
        has_room = len(tally.unread) < MOST_UNREAD
        tally.unread.append(Unread(file, pool.base(file, tree) if has_room else None))
    if known.grows:
        pool.add(tree, file)


# --- vendored libraries ---------------------------------------------------------------------------


def _read_library(tree: CodeTree, library: VendoredFolder, known: Known, tally: _Tally) -> None:
    pool = known.pool
    version = version_of(tree.root, library)
    copy = pool.library(library.name, version, tree)
    new_files = [
        file
        for file in library.files
        if file.kind is None and file.hash not in known.marks and pool.identical(file, tree) is None
    ]
    patched, remark = _patched(new_files, copy, version)
    tally.unread += [
        Unread(file, pool.base_in(copy, library.inside(file)), library.name) for file in patched
    ]
    tally.libraries.append(
        Library(
            path=tree.shown(library.path),
            name=library.name,
            version=version,
            files=len(library.files),
            lines=sum(file.lines for file in library.files),
            base=pool.title(copy.tree, tree) if copy is not None else "",
            patched=[tree.shown(file.path) for file in patched],
            logging=[tree.shown(file.path) for file in new_files if _logs(tree, file)],
            unverified=0 if patched else sum(file.lines for file in new_files),
            remark=remark,
        )
    )
    if known.grows:
        pool.add_library(tree, library)


def _patched(
    new_files: Sequence[CodeFile], copy: Copy | None, version: str
) -> tuple[list[CodeFile], str]:
    """The files of a library to read, or the reason why differing files are not shown."""
    if not new_files:
        return [], ""
    lines = sum(file.lines for file in new_files)
    if copy is None:
        return [], f"no copy to compare with: {len(new_files)} files, {lines} lines"
    if copy.version != version:
        other = copy.version or "no stated version"
        return [], f"{len(new_files)} files, {lines} lines differ from the copy of {other}"
    if len(new_files) > MOST_PATCHED:
        return [], f"{len(new_files)} files, {lines} lines differ from the copy: another version"
    return [*new_files], ""


def _logs(tree: CodeTree, file: CodeFile) -> bool:
    if not file.path.endswith((".py", ".sh", ".cc", ".cpp")):
        return False
    try:
        data = read_plain(tree.root / file.path, _LOGGING_BYTES)
    except OSError:
        return False
    return any(word in data for word in _LOGS)


# --- removed files --------------------------------------------------------------------------------


def removed(folder: CodeFolder, earlier: Sequence[CodeTree]) -> list[str]:
    """The files of the submitter's earlier round whose path and content are gone."""
    paths = {file.path for file in folder.files}
    contents = {file.hash for file in folder.files}
    return [
        tree.shown(file.path)
        for tree in earlier
        if same_submitter(tree, folder.tree)
        for file in tree.files
        if benchmark_of(file.path)[0] == folder.benchmark
        and file.path not in paths
        and file.hash not in contents
    ][:MOST_LISTED]
