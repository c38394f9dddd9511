"""The files that a PATH contains, and how each is checked."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.boundary import outside
from podium.compliance.judging.inputs.listing import Disk, holds
from podium.compliance.judging.inputs.listing import ItemKind as OnDisk
from podium.compliance.judging.inputs.log_names import ARCHIVE, no_logs
from podium.compliance.judging.inputs.round_selection import RoundRequest
from podium.compliance.judging.inputs.standard_input import GIVEN, spool
from podium.compliance.judging.inputs.submission_folders import (
    is_meant_as,
    is_submission,
    refuse_misnamed,
    submissions_below,
    too_deep,
)
from podium.compliance.reporting.data import STDIN

LOG_NAMES = ("result_*.txt", "result_*.txt.gz", "result_*.txt.zst")

DEEPEST_RESULT = 3
"""Depth of an HPC result below `results`: the folders of system, metric and benchmark."""

SCALINGS = ("strong", "weak")
"""Folders of the two metrics of HPC."""

_LOG_NAME = re.compile("|".join(f"(?:{fnmatch.translate(name)})" for name in LOG_NAMES))


class PathKind(StrEnum):
    """The kind of a PATH."""

    LOG = "log"
    SYSTEM = "system"
    SUBMISSION = "submission"
    ROUND = "round"
    RESULTS = "results"
    LOOSE = "loose logs"


class Target(msgspec.Struct, frozen=True):
    """One file to check: its path, and the path that a report shows.

    `submission` is the folder of the submission that the file belongs to, if any. `leads_out`: the
    file is a link out of the submission or the boundary, which is not followed. `from_stdin`: the
    file has the content of standard input.
    """

    path: str
    display_path: str
    kind: PathKind
    submission: str = ""
    leads_out: bool = False
    from_stdin: bool = False

    @property
    def folder(self) -> str:
        """The file's folder, from which its round is chosen; the current folder for a stream."""
        return "." if self.from_stdin else os.path.dirname(self.path)


class PathContents(msgspec.Struct, frozen=True):
    """The contents of a PATH: its kind, its submissions, and folders that are almost submissions.

    `nearly` are folders with the `results` of a submission or its described `systems`, but not
    both. `linked` are links to folders in a round, which are not followed. `nested` are submissions
    that are too deep. `spooled` is the file with the content of standard input. `scope` is the
    folder of results that PATH names, relative to its submission. Reports show paths relative to a
    `single` PATH.
    """

    kind: PathKind
    submissions: tuple[Path, ...] = ()
    nearly: tuple[Path, ...] = ()
    linked: tuple[Path, ...] = ()
    nested: tuple[Path, ...] = ()
    scope: str = ""
    spooled: str = ""
    path: Path = Path()
    single: bool = True

    def shown(self, folder: Path) -> str:
        """The folder, or a folder below it, as a report shows it; empty for a single PATH."""
        if not self.single:
            return str(folder)
        return "" if folder == self.path else folder.relative_to(self.path).as_posix()

    def package(self, root: Path) -> Package:
        """One of its submissions."""
        if self.scope:
            return Package(root, "." if self.single else str(self.path), self.scope)
        shown = self.shown(root)
        return Package(root, "" if shown == "." else shown)


class Package(msgspec.Struct, frozen=True):
    """A submission to check; with a `scope`, only the results in that folder of it.

    `display_path` is the prefix in reports of paths below the submission, or below the scope.
    """

    root: Path
    display_path: str
    scope: str = ""

    def place(self, path: str) -> str:
        """A path below the submission as a report shows it."""
        if not self.scope:
            return f"{self.display_path}/{path}" if self.display_path else path
        return os.path.normpath(f"{self.display_path}/{os.path.relpath(path, self.scope)}")

    def covers(self, other: Package) -> bool:
        """Whether the check of this package includes another."""
        return self.root == other.root and holds(self.scope or other.scope, other.scope)


def _contents(path: Path, request: RoundRequest | None) -> PathContents:
    if path == GIVEN:
        stdin_copy = spool()
        kind = PathKind.SYSTEM if stdin_copy.description else PathKind.LOG
        return PathContents(kind, spooled=stdin_copy.path)
    try:
        folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if path.is_symlink():
            raise NothingToJudge(f"{path} is a broken link") from None
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise NothingToJudge(f"no such file or folder: {path}") from None
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    # A null byte in the path
    except ValueError:
        raise NothingToJudge(f"no such file or folder: {path}") from None
    if not folder:
        if ARCHIVE.search(path.name):
            raise UsageFault(f"{path} is an archive; unpack it, and check its folder or its logs")
        # A log that is passed as a PATH may have any name; only names in folders are matched
        return PathContents(PathKind.SYSTEM if path.suffix == ".json" else PathKind.LOG)
    if is_submission(path, request):
        return PathContents(PathKind.SUBMISSION, (path,))
    scope = _results_scope(path, request)
    if scope is not None:
        return scope
    folders, links = _folders(path)
    round_request = request or RoundRequest()
    for level in _or_above(path):
        refuse_misnamed(level)
    roots = tuple(submissions_below(folders, round_request))
    ancestors = {folder for root in roots for folder in (root, *root.parents)}
    candidates = (
        [path, *(folder for folder in folders if folder not in ancestors)] if request else []
    )
    return PathContents(
        PathKind.ROUND if roots else PathKind.LOOSE,
        roots,
        tuple(folder for folder in candidates if _begun(folder)),
        tuple(links) if roots else (),
        tuple(root for root in roots if too_deep(path, root, round_request)),
    )


def _or_above(path: Path) -> Iterator[Path]:
    """A folder, and the folders that have it in their `results`, if any."""
    yield path
    absolute_path = Path(os.path.abspath(path))
    for folder in [absolute_path, *absolute_path.parents][: DEEPEST_RESULT + 1]:
        if is_meant_as("results", folder.name):
            yield folder.parent


def _begun(folder: Path) -> bool:
    """Whether a folder has one part of a submission: `results`, or `systems` with descriptions."""
    return (folder / "results").is_dir() or any((folder / "systems").glob("*.json"))


def _results_scope(path: Path, request: RoundRequest | None) -> PathContents | None:
    """The results in a folder below a submission's `results`; None for any other folder."""
    # Normalized, not resolved: a link is checked as the folder that it is named like
    absolute_path = Path(os.path.abspath(path))
    ancestors = [absolute_path, *absolute_path.parents][: DEEPEST_RESULT + 1]
    for folder in ancestors:
        root = folder.parent
        if outside(root):
            return None
        if folder.name == "results" and is_submission(root, request):
            scope = absolute_path.relative_to(root)
            inner_parts = scope.parts[2:]
            if len(inner_parts) > 1 + (inner_parts[0] in SCALINGS if inner_parts else 0):
                return None
            names_root = len(scope.parts) < len(path.parts) and ".." not in path.parts
            # In the form in which the user would name it, so that both are recognized as the same
            root = path.parents[len(scope.parts) - 1] if names_root else root
            return PathContents(PathKind.RESULTS, (root,), scope=scope.as_posix())
    return None


def _folders(path: Path) -> tuple[list[Path], list[Path]]:
    """The folders in a folder, and the links to folders."""
    try:
        with os.scandir(path) as entries:
            # isdir follows links, so that a link to a folder is found, and can be reported
            folders = [entry for entry in entries if os.path.isdir(entry.path)]
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    pairs = sorted((entry.is_symlink(), path / entry.name) for entry in folders)
    return [path for link, path in pairs if not link], [path for link, path in pairs if link]


def submissions(contents: Mapping[Path, PathContents]) -> list[Package]:
    """The submissions among the paths and below them, with the path a report shows."""
    packages = [
        content.package(root) for content in contents.values() for root in content.submissions
    ]
    # A submission that is named twice, by its PATH and by the PATH of its round, is checked once
    outermost: list[Package] = []
    for package in sorted(packages, key=lambda package: len(package.scope)):
        if not any(other.covers(package) for other in outermost):
            outermost.append(package)
    return [package for package in packages if package in outermost]


class SurplusFolders(msgspec.Struct, frozen=True):
    """Folders that are not checked as submissions, as a report shows them.

    `undescribed` and `resultless` would be submissions if they had `systems` or `results`. `nested`
    are submissions that are too deep in a round. `linked` are links to folders in the place of
    submissions.
    """

    undescribed: list[str] = []
    resultless: list[str] = []
    nested: list[str] = []
    linked: list[str] = []


def surplus_folders(contents: Mapping[Path, PathContents]) -> SurplusFolders:
    """The folders below the paths that are not checked as submissions."""
    surplus = SurplusFolders()
    for content in contents.values():
        for parts, folders in (
            (surplus.undescribed, [f for f in content.nearly if not (f / "systems").is_dir()]),
            (surplus.resultless, [f for f in content.nearly if not (f / "results").is_dir()]),
            (surplus.nested, content.nested),
            (surplus.linked, content.linked),
        ):
            parts += [content.shown(folder) or "." for folder in folders]
    return surplus


def kinds_of(paths: list[Path], request: RoundRequest | None = None) -> dict[Path, PathContents]:
    """The contents of each path; raises NothingToJudge if one does not exist.

    Raises UsageFault if standard input would be read twice.
    """
    if paths.count(GIVEN) > 1:
        raise UsageFault("standard input (-) can be read only once")
    single = len({*paths}) == 1
    return {
        path: replace(_contents(path, request or RoundRequest()), path=path, single=single)
        for path in paths
    }


def targets(
    contents: Mapping[Path, PathContents],
    disks: Mapping[Path, Disk] | None = None,
    *,
    empty: bool = False,
) -> list[Target]:
    """Every file to check below the paths, in order; `disks` are the listings of submissions.

    Raises NothingToJudge if there is none, unless `empty` allows it: a submission without logs is
    checked, too.
    """
    by_path: dict[str, Target] = {}
    for content in contents.values():
        for target in _targets(content, disks or {}):
            by_path.setdefault(target.path, target)
    if not by_path and not empty:
        names = ", ".join(str(path) for path in contents)
        raise NothingToJudge(f"nothing to check in {names}: {no_logs(contents)}")
    return list(by_path.values())


def _targets(contents: PathContents, disks: Mapping[Path, Disk]) -> Iterator[Target]:
    kind, path, roots = contents.kind, contents.path, contents.submissions
    if contents.spooled:
        yield Target(contents.spooled, STDIN, kind, from_stdin=True)
        return
    if kind in (PathKind.LOG, PathKind.SYSTEM):
        yield Target(str(path), path.name if contents.single else str(path), kind)
        return
    for top in roots:
        # The checks of the submission use the same listing: no folder is read twice
        disk = disks.get(top) or Disk(top)
        yield from _results(disk, contents.package(top))
    if kind is PathKind.LOOSE:
        yield from _loose(path, contents)
    elif kind is PathKind.ROUND:
        # Logs next to submissions are checked as loose logs, so that they are not silently skipped.
        for folder in _folders(path)[0]:
            if folder not in roots:
                yield from _loose(folder, contents)


def _results(disk: Disk, package: Package) -> Iterator[Target]:
    """The logs of a submission; a folder named like a log is included, so that it is reported."""
    submission = str(disk.root)
    for _, folder in disk.walk(package.scope or "results", links=True):
        for item in folder.items:
            if _LOG_NAME.match(item.name):
                leads_out = item.kind is OnDisk.LINK and disk.leads_out(item.path)
                display_path = package.place(item.path)
                yield Target(item.full, display_path, PathKind.LOG, submission, leads_out)


def _loose(top: Path, contents: PathContents) -> Iterator[Target]:
    """The logs in a folder, without those of submissions."""
    start, inner = len(str(top)), os.path.relpath(top, contents.path)
    without = frozenset(map(str, contents.submissions))
    # Links to folders are not followed: they may leave the tree, or be circular.
    for folder, subfolders, files in os.walk(top):
        subfolders[:] = sorted(n for n in subfolders if f"{folder}/{n}" not in without)
        display_path = os.path.normpath(f"{inner}/{folder[start:]}") if contents.single else folder
        names = [name for name in files if _LOG_NAME.match(name)]
        # A folder named like a log is included, so that it is reported.
        names += [name for name in subfolders if _LOG_NAME.match(name)]
        for name in sorted(names):
            display_name = name if display_path == "." else f"{display_path}/{name}"
            path = f"{folder}/{name}"
            yield Target(path, display_name, PathKind.LOG, leads_out=outside(path))
