"""Source files: found by globs and in folders, inspected once, and verified when they are read.

podium opens only regular files; links in folders stay links.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.layout import natural

COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
"""First bytes of compressed files; logs in a tree must not be compressed."""


class SourceFault(Exception):
    """The reason why a file cannot be used."""


class Unreadable(SourceFault):
    """The file cannot be read because of an error of the system."""

    def __init__(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or "its path is not valid"
        super().__init__(f"it cannot be read: {reason.lower()}")


@dataclass(frozen=True, slots=True)
class Source:
    """A file at the time of planning. `display_path` is relative to the folder of podium.toml.

    `stamp` changes when somebody writes to the file: its identity, size and times.
    """

    path: str
    display_path: str
    size: int
    stamp: tuple[int, ...]
    executable: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not used, with the reason; `refused` if a result could not use it."""

    display_path: str
    why: str
    refused: bool = False


def shown_path(path: str | Path, base: Path) -> str:
    """A path relative to the base if it is below or next to the base; else the full path."""
    full, top = os.path.abspath(path), os.path.abspath(base)
    # All paths are below the root
    above = os.path.dirname(top).rstrip("/") or top
    return os.path.relpath(full, top) if full.startswith(above.rstrip("/") + "/") else full


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """The values that identify one state of a file."""
    # Copying tools restore mtime; nothing restores ctime
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def source_of(path: str | Path, base: Path, *, follow: bool = True) -> Source:
    """Inspect a file; raises SourceFault if it does not exist or is not a regular file."""
    display_path = shown_path(path, base)
    try:
        # The receipt is JSON, which cannot contain other names
        os.fsencode(display_path).decode("utf-8")
        status = os.stat(path, follow_symlinks=follow)
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(path)
            size = len(os.fsencode(target))
            return Source(str(path), display_path, size, stamp_of(status), link=target)
    except UnicodeDecodeError:
        raise SourceFault("its name is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise Unreadable(error) from None
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise SourceFault(f"it is {kind}")
    # Reported in the plan, not in the middle of copying
    if not os.access(path, os.R_OK):
        raise Unreadable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))
    runs = bool(status.st_mode & stat.S_IXUSR)
    return Source(str(path), display_path, status.st_size, stamp_of(status), runs)


def log_source(path: str | Path, base: Path) -> Source:
    """Inspect a log; raises SourceFault like `source_of`, and for a compressed file."""
    source = source_of(path, base)
    try:
        with open(source.path, "rb") as stream:
            head = stream.read(8)
    except OSError as error:
        raise Unreadable(error) from None
    for magic, name in COMPRESSED.items():
        if head.startswith(magic):
            raise SourceFault(f"it is compressed ({name}); decompress it, logs must be plain text")
    return source


def expand(patterns: Sequence[str], base: Path) -> list[str]:
    """The files that match globs, each once, in natural order, without folders.

    A hidden file matches only a pattern with a leading dot. `**` follows no links, because links
    may form a cycle. Raises UsageFault for an invalid glob.
    """
    paths: dict[str, str] = {}
    for pattern in patterns:
        try:
            for path in _matches(pattern, base):
                if not os.path.isdir(path):
                    # A log under two names is one run
                    paths.setdefault(os.path.realpath(path), path)
        except (ValueError, NotImplementedError, RecursionError) as error:
            raise UsageFault(f"{pattern!r} is not a valid glob: {error}") from None
    return natural(paths.values())


def _matches(pattern: str, base: Path) -> Iterator[str]:
    parts = Path(pattern).parts
    top = base
    if os.path.isabs(pattern):
        top, parts = Path(parts[0]), parts[1:]
    # In Python up to 3.12, a trailing ** matches only folders
    inner = "/".join((*parts, "*") if parts[-1:] == ("**",) else parts)
    hidden = {part for part in parts if part.startswith(".")}
    wild = any(part.startswith(".") and set(part) & set("*?[") for part in hidden)
    for path in top.glob(inner):
        names = path.relative_to(top).parts
        if wild or all(not name.startswith(".") or name in hidden for name in names):
            yield os.path.normpath(path)


def excluded(display_path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches a path, a folder above it, or a part of it."""
    parts = display_path.split("/")
    paths = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return any(
        # fnmatch itself ignores case on some systems: the plan must not depend on that
        fnmatch.fnmatchcase(name, pattern.removesuffix("/"))
        for pattern in patterns
        for name in (*paths, *parts)
    )


NEVER = (".*", "__pycache__", "*.pyc")
"""Names that are never packed: hidden files and the caches of Python."""


@dataclass(frozen=True, slots=True)
class FolderFile:
    """One file in a folder: its path below the folder, and its source or the reason for none.

    Without an `unreadable` file, the folder would be incomplete.
    """

    below: str
    source: Source | None
    why: str = ""
    unreadable: bool = False


def in_folder(folder: Path, base: Path, exclude: Sequence[str] = ()) -> Iterator[FolderFile]:
    """Every file and link below a folder, sorted; links are never followed."""
    stack = [""]
    while stack:
        below = stack.pop()
        try:
            with os.scandir(folder / below) as entries:
                items = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield FolderFile(below, None, str(Unreadable(error)), unreadable=True)
            continue
        inner = []
        for entry in items:
            path = f"{below}/{entry.name}" if below else entry.name
            reason = _unwanted(path, entry.name, exclude)
            if reason:
                yield FolderFile(path, None, reason)
            elif entry.is_dir(follow_symlinks=False):
                inner.append(path)
            else:
                yield _found(folder, path, base)
        # Reversed, because `pop` takes the last item first
        stack += reversed(inner)


def _unwanted(path: str, name: str, exclude: Sequence[str]) -> str:
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in NEVER):
        hidden = name.startswith(".")
        return "its name starts with a dot" if hidden else "a cache of Python"
    return "excluded" if excluded(path, exclude) else ""


def _found(folder: Path, path: str, base: Path) -> FolderFile:
    try:
        return FolderFile(path, source_of(folder / path, base, follow=False))
    except SourceFault as fault:
        return FolderFile(path, None, str(fault), isinstance(fault, Unreadable))


def same_content(first: Source, second: Source) -> bool:
    """Whether two sources have the same bytes; links must have the same target."""
    if first.link is not None or second.link is not None:
        return first.link == second.link
    # Device and inode: two names of one file
    if first.size != second.size or first.stamp[:2] == second.stamp[:2]:
        return first.size == second.size
    return same_bytes(first.path, second.path)


def same_bytes(first: str | Path, second: str | Path) -> bool:
    """Whether two files have the same bytes."""
    size = 1 << 20
    with open(first, "rb") as first_file, open(second, "rb") as second_file:
        while True:
            block = first_file.read(size)
            if block != second_file.read(size):
                return False
            if not block:
                return True
