"""Paths in reports: relative to a folder, and many paths as few patterns.

`based` makes the paths of a report relative to a folder instead of the PATH that was judged.
`places_of` joins files whose names differ in a number or a folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from podium.compliance.errors import UsageFault
from podium.compliance.reporting.data import STDIN, Outcome
from podium.rules.finding import Finding


def root_of(folder: Path | None) -> str:
    """The absolute folder that paths are relative to; default the working directory.

    Raises UsageFault if it is not a folder.
    """
    if folder is not None and not folder.is_dir():
        raise UsageFault(f"--relative-to {folder}: no such folder")
    return os.path.abspath(folder or ".")


def based(report: Outcome, paths: Sequence[Path], root: str) -> Outcome:
    """The report with the prefix of its paths; `paths` are the paths that were judged.

    `root` is an absolute path. The paths of a report are relative to a single PATH, or to the
    working directory if there are several.
    """
    folder = ""
    if len(paths) == 1:
        folder = str(paths[0] if paths[0].is_dir() else paths[0].parent)
    if root == os.getcwd() and not os.path.isabs(folder):
        # As the user wrote it, with `..` and links
        return replace(report, base="" if folder == "." else folder)
    # Only the file system knows the target of `..` after a link
    absolute = os.path.realpath(folder) if ".." in Path(folder).parts else os.path.abspath(folder)
    relative = _in_root(absolute, root)
    if relative == absolute:
        relative = _in_root(os.path.realpath(folder), os.path.realpath(root))
    base = absolute if os.path.isabs(relative) else relative
    return replace(report, base="" if base == "." else base)


def placed(report: Outcome, root: str, *, existing: bool = False) -> Outcome:
    """The report with paths relative to `root`, or absolute paths outside it.

    `existing`: a finding about a missing file points at the nearest existing folder, and its
    message names the missing file.
    """
    cache: dict[str, str] = {}

    def place(path: str) -> str:
        if path not in cache:
            cache[path] = _in_root(joined(report.base, path), root)
        return cache[path]

    findings: Iterable[Finding] = (
        replace(finding, path=place(finding.path)) for finding in report.findings
    )
    if existing:
        findings = _pointing(findings, root)
    return replace(
        report,
        base="",
        submissions=[replace(entry, path=place(entry.path)) for entry in report.submissions],
        results=[replace(entry, path=place(entry.path)) for entry in report.results],
        files=[replace(entry, path=place(entry.path)) for entry in report.files],
        findings=[*findings],
    )


def is_url(path: str) -> bool:
    """Whether a path of a report is a URL: other paths have one slash between two names."""
    return "://" in path


def joined(base: str, path: str) -> str:
    """A folder and a path below it; either may be empty, or `.`."""
    if not base or path.startswith("/") or is_url(path) or path == STDIN:
        return path
    return base if path in ("", ".") else f"{base.rstrip('/')}/{path}"


def _in_root(path: str, root: str) -> str:
    """An absolute path without its root; a path outside the root is unchanged."""
    if path == root:
        return "."
    return path.removeprefix(f"{root.rstrip('/')}/")


def _pointing(findings: Iterable[Finding], root: str) -> Iterable[Finding]:
    """The findings, each with an existing path."""
    nearest = _nearest_there(root)
    for finding in findings:
        existing_path = nearest(finding.path)
        if existing_path == finding.path:
            yield finding
        else:
            message = f"{finding.path}: {finding.message}"
            yield replace(finding, path=existing_path, line=None, message=message)


def _nearest_there(root: str) -> Callable[[str], str]:
    cache: dict[str, str] = {}

    def nearest(path: str) -> str:
        if is_url(path):
            # A fetched file exists
            return path
        if path not in cache:
            # For a broken link, the link itself is at fault
            exists = not path or os.path.lexists(os.path.join(root, path))
            cache[path] = path if exists else nearest(os.path.dirname(path.rstrip("/")))
        return cache[path]

    return nearest


MOST = 3
"""Maximum exact patterns; further places are joined with stars."""

_NUMBERED = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_NUMBER = re.compile("[0-9]+")


class PathPattern(msgspec.Struct, frozen=True):
    """Files or folders, in input order and not empty, and the pattern that names them.

    Braces in a pattern match only files of the place; a star may match others, too.
    """

    pattern: str
    paths: tuple[str, ...]


def places_of(paths: Iterable[str], limit: int = MOST) -> list[PathPattern]:
    """The places of paths, with the largest first; each path is in exactly one place."""
    names = list(dict.fromkeys(paths))
    patterns = _across_folders(_in_folders(names))
    if len(patterns) > limit:
        patterns = _joined(patterns)
    return sorted(patterns, key=lambda pattern: -len(pattern.paths))


def _in_folders(paths: Iterable[str]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Folder, name pattern and paths of files that differ only in the last number of the name."""
    groups: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for path in paths:
        folder, slash, name = path.rpartition("/")
        numbered = _NUMBERED.fullmatch(name)
        prefix, number, suffix = numbered.groups() if numbered else (name, "", "")
        groups.setdefault((folder + slash, prefix, suffix), []).append((number, path))
    return [
        (folder, f"{prefix}{_ranges([number for number, _ in members])}{suffix}", _paths(members))
        for (folder, prefix, suffix), members in groups.items()
    ]


def _paths(members: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(path for _, path in members)


def _ranges(numbers: Sequence[str]) -> str:
    """Numbers as a pattern in names: 7, or {0..4,7}."""
    if len(numbers) == 1:
        return numbers[0]
    runs: list[list[str]] = []
    for number in sorted(numbers, key=lambda text: (int(text or -1), text)):
        if runs and number == _next(runs[-1][-1]):
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        f"{run[0]}..{run[-1]}"
        if len(run) > 2
        else ",".join(run)  # a pair is not shorter as a range
        for run in runs
    ]
    return "{" + ",".join(parts) + "}"


def _next(number: str) -> str:
    return str(int(number) + 1).zfill(len(number)) if number else ""


def _across_folders(patterns: Iterable[tuple[str, str, tuple[str, ...]]]) -> list[PathPattern]:
    """Join folders of one depth that have the same names."""
    groups: dict[tuple[int, str], list[tuple[list[str], tuple[str, ...]]]] = {}
    for folder, name, paths in patterns:
        parts = folder.split("/")
        groups.setdefault((len(parts), name), []).append((parts, paths))
    return [
        PathPattern(
            _folders([parts for parts, _ in group]) + name,
            tuple(path for _, paths in group for path in paths),
        )
        for (_, name), group in groups.items()
    ]


def _folders(folders: Sequence[Sequence[str]]) -> str:
    """One pattern for folders of one depth: {a,b} if two differ in one part, else a star."""
    columns = [list(dict.fromkeys(column)) for column in zip(*folders, strict=True)]
    is_pair = sum(len(column) > 1 for column in columns) == 1 and len(folders) == 2
    return "/".join(
        column[0] if len(column) == 1 else "{" + ",".join(column) + "}" if is_pair else "*"
        for column in columns
    )


def _joined(patterns: Sequence[PathPattern]) -> list[PathPattern]:
    """Join places of one depth whose names differ only in numbers, with a star for the numbers."""
    groups: dict[tuple[int, str], list[PathPattern]] = {}
    for pattern in patterns:
        *folders, name = pattern.paths[0].split("/")
        groups.setdefault((len(folders), _NUMBER.sub("*", name)), []).append(pattern)
    return [
        group[0]
        if len(group) == 1
        else _starred([path for pattern in group for path in pattern.paths])
        for group in groups.values()
    ]


def _starred(paths: Sequence[str]) -> PathPattern:
    *folders, names = [set(part) for part in zip(*(path.split("/") for path in paths), strict=True)]
    parts = [min(part) if len(part) == 1 else "*" for part in folders]
    name = min(names)
    return PathPattern(
        "/".join([*parts, name if len(names) == 1 else _NUMBER.sub("*", name)]), tuple(paths)
    )
