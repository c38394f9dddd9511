"""What a PATH holds: which files are to be judged, and as what."""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from compliance.errors import NothingToJudge

LOG_NAMES = ("result_*.txt", "result_*.txt.gz", "result_*.txt.zst")

_LOG_NAME = re.compile("|".join(f"(?:{fnmatch.translate(name)})" for name in LOG_NAMES))


class Kind(StrEnum):
    """What a PATH is, by the contract's table."""

    LOG = "log"
    SYSTEM = "system"
    SUBMISSION = "submission"
    ROUND = "round"
    LOOSE = "loose logs"


@dataclass(frozen=True, slots=True)
class Target:
    """One file to judge: where it is, and the path a report shows.

    `submission` is the folder of the submission that the file belongs to, where it does.
    """

    path: str
    shown: str
    kind: Kind
    submission: str = ""

    @property
    def folder(self) -> str:
        """Where the file lies."""
        return os.path.dirname(self.path)


def kind_of(path: Path) -> Kind:
    """What PATH is; raises NothingToJudge where there is no such path."""
    try:
        folder = stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if path.is_symlink():
            raise NothingToJudge(f"{path} is a link to nothing") from None
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise NothingToJudge(f"no such file or folder: {path}") from None
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise NothingToJudge(f"no such file or folder: {path}") from None
    if not folder:
        return Kind.SYSTEM if path.suffix == ".json" else Kind.LOG
    if is_submission(path):
        return Kind.SUBMISSION
    if any(is_submission(sub) for sub in _folders(path)):
        return Kind.ROUND
    return Kind.LOOSE


def is_submission(folder: Path) -> bool:
    """Whether a folder has the `results` and `systems` of a submitter."""
    return (folder / "results").is_dir() and (folder / "systems").is_dir()


def _folders(path: Path) -> Iterator[Path]:
    try:
        with os.scandir(path) as entries:
            names = sorted(e.name for e in entries if e.is_dir(follow_symlinks=False))
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    return (path / name for name in names)


def submissions(kinds: Mapping[Path, Kind]) -> list[tuple[Path, str]]:
    """The submissions among the paths and just below them, with the path a report shows."""
    found: dict[Path, str] = {}
    alone = len(kinds) == 1
    for path, kind in kinds.items():
        if kind is Kind.SUBMISSION:
            found.setdefault(path, "" if alone else str(path))
        elif kind is Kind.ROUND:
            for sub in _folders(path):
                if is_submission(sub):
                    found.setdefault(sub, sub.name if alone else str(sub))
    return list(found.items())


def kinds_of(paths: list[Path]) -> dict[Path, Kind]:
    """What each path is; raises NothingToJudge where one does not exist."""
    return {path: kind_of(path) for path in paths}


def targets(kinds: Mapping[Path, Kind], *, empty: bool = False) -> list[Target]:
    """Every file to judge below the paths, in order.

    Raises NothingToJudge where there is none, unless `empty` allows it: a submission without logs
    is judged, too.
    """
    found: dict[str, Target] = {}
    for path, kind in kinds.items():
        for target in _targets(path, kind, alone=len(kinds) == 1):
            found.setdefault(target.path, target)
    if not found and not empty:
        names = ", ".join(str(path) for path in kinds)
        raise NothingToJudge(f"nothing to judge in {names}: no result_*.txt below it")
    return list(found.values())


def _targets(path: Path, kind: Kind, *, alone: bool) -> Iterator[Target]:
    if kind in (Kind.LOG, Kind.SYSTEM):
        yield Target(str(path), path.name if alone else str(path), kind)
        return
    if kind is Kind.SUBMISSION:
        tops = [path]
    elif kind is Kind.ROUND:
        tops = [sub for sub in _folders(path) if is_submission(sub)]
    else:
        tops = []
    for top in tops:
        yield from _logs(top / "results", path, alone=alone, submission=str(top))
    if not tops:
        yield from _logs(path, path, alone=alone)
    elif kind is Kind.ROUND:
        # What a folder that is no submission holds must not be passed over in silence.
        for sub in _folders(path):
            if sub not in tops:
                yield from _logs(sub, path, alone=alone)


def _logs(below: Path, root: Path, *, alone: bool, submission: str = "") -> Iterator[Target]:
    # Links to folders are not followed: they may lead out of the tree, or in a circle.
    for folder, subfolders, files in os.walk(below):
        subfolders.sort()
        shown = os.path.relpath(folder, root) if alone else folder
        names = [name for name in files if _LOG_NAME.match(name)]
        # A folder named like a log is judged, so that it is reported and not passed over.
        names += [name for name in subfolders if _LOG_NAME.match(name)]
        for name in sorted(names):
            inside = name if shown == "." else f"{shown}/{name}"
            yield Target(f"{folder}/{name}", inside, Kind.LOG, submission)
