"""The files that a PATH contains, and how each is checked."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.judging.inputs.boundary import outside
from podium.compliance.judging.inputs.listing import Disk, holds
from podium.compliance.judging.inputs.listing import ItemKind as OnDisk
from podium.compliance.judging.inputs.log_names import no_logs
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
    folder of results that PATH names, relative to its submission.
    """

    kind: PathKind
    submissions: tuple[Path, ...] = ()
    nearly: tuple[Path, ...] = ()
    linked: tuple[Path, ...] = ()
    nested: tuple[Path, ...] = ()
    scope: str = ""
    spooled: str = ""


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
        came = spool()
        kind = PathKind.SYSTEM if came.description else PathKind.LOG
        return PathContents(kind, spooled=came.path)
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
        # A log that is passed as a PATH may have any name; only names in folders are matched
        return PathContents(PathKind.SYSTEM if path.suffix == ".json" else PathKind.LOG)
    if is_submission(path, request):
        return PathContents(PathKind.SUBMISSION, (path,))
    scope = _results_scope(path, request)
    if scope is not None:
        return scope
    folders, links = _folders(path)
    asked = request or RoundRequest()
    for each in _or_above(path):
        refuse_misnamed(each)
    found = tuple(submissions_below(folders, asked))
    held = {each for sub in found for each in (sub, *sub.parents)}
    nearly = [path, *(sub for sub in folders if sub not in held)] if request else []
    return PathContents(
        PathKind.ROUND if found else PathKind.LOOSE,
        found,
        tuple(each for each in nearly if _begun(each)),
        tuple(links) if found else (),
        tuple(each for each in found if too_deep(path, each, asked)),
    )


def _or_above(path: Path) -> Iterator[Path]:
    """A folder, and the folders that have it in their `results`, if any."""
    yield path
    here = Path(os.path.abspath(path))
    for folder in [here, *here.parents][: DEEPEST_RESULT + 1]:
        if is_meant_as("results", folder.name):
            yield folder.parent


def _begun(folder: Path) -> bool:
    """Whether a folder has one part of a submission: `results`, or `systems` with descriptions."""
    return (folder / "results").is_dir() or any((folder / "systems").glob("*.json"))


def _results_scope(path: Path, request: RoundRequest | None) -> PathContents | None:
    """The results in a folder below a submission's `results`; None for any other folder."""
    # Normalized, not resolved: a link is checked as the folder that it is named like
    here = Path(os.path.abspath(path))
    below = [here, *here.parents][: DEEPEST_RESULT + 1]
    for folder in below:
        root = folder.parent
        if outside(root):
            return None
        if folder.name == "results" and is_submission(root, request):
            scope = here.relative_to(root)
            inside = scope.parts[2:]
            if len(inside) > 1 + (inside[0] in SCALINGS if inside else 0):
                return None
            given = len(scope.parts) < len(path.parts) and ".." not in path.parts
            # In the form in which the user would name it, so that both are recognized as the same
            root = path.parents[len(scope.parts) - 1] if given else root
            return PathContents(PathKind.RESULTS, (root,), scope=scope.as_posix())
    return None


def _folders(path: Path) -> tuple[list[Path], list[Path]]:
    """The folders in a folder, and the links to folders."""
    try:
        with os.scandir(path) as entries:
            # isdir follows links, so that a link to a folder is found, and can be reported
            folders = [each for each in entries if os.path.isdir(each.path)]
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    found = sorted((each.is_symlink(), path / each.name) for each in folders)
    return [each for link, each in found if not link], [each for link, each in found if link]


def submissions(contents: Mapping[Path, PathContents]) -> list[Package]:
    """The submissions among the paths and below them, with the path a report shows."""
    given = [
        _package(one, path, what, alone=len(contents) == 1)
        for path, what in contents.items()
        for one in what.submissions
    ]
    # A submission that is named twice, by its PATH and by the PATH of its round, is checked once
    found: list[Package] = []
    for one in sorted(given, key=lambda each: len(each.scope)):
        if not any(other.covers(one) for other in found):
            found.append(one)
    return [one for one in given if one in found]


def _package(root: Path, path: Path, what: PathContents, *, alone: bool) -> Package:
    if what.scope:
        return Package(root, "." if alone else str(path), what.scope)
    shown = _display_path(root, path, alone=alone)
    return Package(root, "" if shown == "." else shown)


def nearly_submissions(contents: Mapping[Path, PathContents], lacking: str) -> list[str]:
    """Folders without one of the two folders of a submission, as a report shows them."""
    return _displayed(
        contents, lambda what: (each for each in what.nearly if not (each / lacking).is_dir())
    )


def nested_submissions(contents: Mapping[Path, PathContents]) -> list[str]:
    """Submissions that are too deep in a round, as a report shows them."""
    return _displayed(contents, lambda what: what.nested)


def linked_folders(contents: Mapping[Path, PathContents]) -> list[str]:
    """Links to folders in the place of submissions, as a report shows them."""
    return _displayed(contents, lambda what: what.linked)


def _displayed(
    contents: Mapping[Path, PathContents], which: Callable[[PathContents], Iterable[Path]]
) -> list[str]:
    alone = len(contents) == 1
    return [
        _display_path(one, path, alone=alone) or "."
        for path, what in contents.items()
        for one in which(what)
    ]


def _display_path(folder: Path, root: Path, *, alone: bool) -> str:
    if not alone:
        return str(folder)
    return "" if folder == root else folder.relative_to(root).as_posix()


def kinds_of(paths: list[Path], request: RoundRequest | None = None) -> dict[Path, PathContents]:
    """The contents of each path; raises NothingToJudge if one does not exist.

    Raises UsageFault if standard input would be read twice.
    """
    if paths.count(GIVEN) > 1:
        raise UsageFault("standard input (-) can be read only once")
    return {path: _contents(path, request or RoundRequest()) for path in paths}


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
    found: dict[str, Target] = {}
    for path, what in contents.items():
        for target in _targets(path, what, disks or {}, alone=len(contents) == 1):
            found.setdefault(target.path, target)
    if not found and not empty:
        names = ", ".join(str(path) for path in contents)
        raise NothingToJudge(f"nothing to check in {names}: {no_logs(contents)}")
    return list(found.values())


def _targets(
    path: Path, contents: PathContents, disks: Mapping[Path, Disk], *, alone: bool
) -> Iterator[Target]:
    kind, tops = contents.kind, contents.submissions
    if contents.spooled:
        yield Target(contents.spooled, STDIN, kind, from_stdin=True)
        return
    if kind in (PathKind.LOG, PathKind.SYSTEM):
        yield Target(str(path), path.name if alone else str(path), kind)
        return
    for top in tops:
        # The checks of the submission use the same listing: no folder is read twice
        disk = disks.get(top) or Disk(top)
        yield from _results(disk, _package(top, path, contents, alone=alone))
    if kind is PathKind.LOOSE:
        yield from _loose(path, path, alone=alone)
    elif kind is PathKind.ROUND:
        # Logs next to submissions are checked as loose logs, so that they are not silently skipped.
        for sub in _folders(path)[0]:
            if sub not in tops:
                yield from _loose(sub, path, alone=alone, without=frozenset(map(str, tops)))


def _results(disk: Disk, package: Package) -> Iterator[Target]:
    """The logs of a submission; a folder named like a log is included, so that it is reported."""
    submission = str(disk.root)
    for _, folder in disk.walk(package.scope or "results", links=True):
        for item in folder.items:
            if _LOG_NAME.match(item.name):
                out = item.kind is OnDisk.LINK and disk.leads_out(item.path)
                shown = package.place(item.path)
                yield Target(item.full, shown, PathKind.LOG, submission, out)


def _loose(
    below: Path, root: Path, *, alone: bool, without: frozenset[str] = frozenset()
) -> Iterator[Target]:
    start, inner = len(str(below)), os.path.relpath(below, root)
    # Links to folders are not followed: they may leave the tree, or be circular.
    for folder, subfolders, files in os.walk(below):
        subfolders[:] = sorted(n for n in subfolders if f"{folder}/{n}" not in without)
        display_path = os.path.normpath(f"{inner}/{folder[start:]}") if alone else folder
        names = [name for name in files if _LOG_NAME.match(name)]
        # A folder named like a log is included, so that it is reported.
        names += [name for name in subfolders if _LOG_NAME.match(name)]
        for name in sorted(names):
            inside = name if display_path == "." else f"{display_path}/{name}"
            path = f"{folder}/{name}"
            yield Target(path, inside, PathKind.LOG, leads_out=outside(path))
