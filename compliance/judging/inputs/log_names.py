"""Logs that are not named result_<i>.txt, which are found by their records."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.text.words import join_limited
from podium.logging_spec.reader.inflate import COMPRESSED, MAGIC, BrokenCompressionError, inflate

HEAD = 1 << 20
"""Bytes of a file that are searched for a record."""

MOST_FILES = 5000
"""Number of files below a folder that are examined."""

MOST_GLOBS = 6
"""Number of name patterns in a suggested command."""

LOG_SUFFIX = re.compile(r"(?:\.(?:txt|log|out|err|gz|zst|bz2|xz|bak|orig))+$", re.IGNORECASE)

# In code that writes records, no line has a key after the brace. A record may lack its token, or be
# a string inside another JSON object
_RECORD = re.compile(
    rb"""MLLOG\W{0,3}\{\s*\\*["']\w"""
    rb"""|^[^\n{]{0,80}\{(?=[^\n]*"time_ms")(?=[^\n]*"key")"""
    rb"|:::MLL\s\d|:::MLPv0\.\d",
    re.MULTILINE,
)
_NUMBER = re.compile(r"(\d+)\D*$")
_ALMOST = re.compile(r"results?[ ._-]*(\d+)", re.IGNORECASE)
_OTHERS = (".py", ".sh", ".md", ".rst", ".json", ".html", ".ipynb", ".patch", ".diff", ".c", ".cpp")


ARCHIVE = re.compile(r"\.(?:tar(?:\.\w+)*|tgz|tzst|zip|7z)$", re.IGNORECASE)
"""The end of the name of an archive. Its files, one after the other, would look like one log."""


def holds_records(path: str | Path) -> bool:
    """Whether a file, perhaps compressed, is a log by its content; False if it is unreadable.

    Code and documents that quote a record are not logs.
    """
    if str(path).lower().endswith(_OTHERS) or ARCHIVE.search(str(path)):
        return False
    try:
        with open_plain(path) as stream:
            head = stream.read(MAGIC)
            stream.seek(0)
            if not head.startswith(COMPRESSED):
                # Without null bytes, UTF-16 is legible
                return _RECORD.search(stream.read(HEAD).replace(b"\0", b"")) is not None
            start = b""
            for piece in inflate(stream, head):
                start += bytes(piece[:HEAD])
                if len(start) >= HEAD:
                    break
            return _RECORD.search(start) is not None
    except (OSError, BrokenCompressionError):
        return False


def is_compressed(path: str | Path) -> bool:
    """Whether a file is compressed, according to its first bytes."""
    try:
        with open_plain(path) as stream:
            return bool(stream.read(MAGIC).startswith(COMPRESSED))
    except OSError:
        return False


class Placing(msgspec.Struct, frozen=True):
    """The correct names of misnamed logs of a result, and the logs that get no name."""

    names: Mapping[str, str]
    left: Mapping[str, str]
    """The reasons, by the name of the log."""


def placed(logs: Sequence[str], misnamed: Sequence[str], run_count: int | None) -> Placing:
    """The correct name of each misnamed log of a result; `run_count` is its number of runs.

    A name that is almost result_<i>.txt keeps its number. Other logs get the unused numbers, in
    their order. Logs beyond the number of runs get no name.
    """
    total = len(logs) + len(misnamed)
    limit = total if run_count is None else run_count
    used = {int(name[7:-4]) for name in logs if name[7:-4].isdecimal()}
    names: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for name in misnamed:
        match = _ALMOST.match(name)
        number = None if match is None else int(match[1])
        if number in used:
            reasons[name] = f"it is a log, but result_{number}.txt exists already"
        elif number is not None and len(logs) + len(names) < limit:
            names[name] = f"result_{number}.txt"
            used.add(number)
    remaining = [name for name in misnamed if name not in names and name not in reasons]
    numbered = bool(logs or names)
    for name in remaining if numbered else _by_number(remaining):
        if len(logs) + len(names) >= limit:
            reasons[name] = (
                f"the result has its {limit} runs; move this log out of it, or remove it"
            )
            continue
        number = _own_number(name) if numbered else None
        if number is None or number in used or number >= limit:
            number = next(candidate for candidate in range(total + 1) if candidate not in used)
        names[name] = f"result_{number}.txt"
        used.add(number)
    return Placing(names, reasons)


def _own_number(name: str) -> int | None:
    match = _NUMBER.search(LOG_SUFFIX.sub("", name))
    return int(match[1]) if match and len(match[1]) < 10 else None


def _by_number(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (_own_number(name) or 0, name))


# --- loose logs -----------------------------------------------------------------------------------


def other_logs(folder: Path) -> Iterator[str]:
    """The files below a folder that have records, with any name; relative paths."""
    file_count = 0
    for parent, subfolders, files in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        for name in sorted(files):
            file_count += 1
            if file_count > MOST_FILES:
                return
            path = os.path.join(parent, name)
            if not os.path.islink(path) and holds_records(path):
                yield os.path.relpath(path, folder)


class Target(Protocol):
    """A file to check, as in `discover`."""

    @property
    def path(self) -> str: ...

    @property
    def display_path(self) -> str: ...

    @property
    def folder(self) -> str: ...


def no_logs(folders: Iterable[Path]) -> str:
    """Why there is nothing to check below folders, with the names of logs that were found."""
    logs = [path / name for path in folders for name in other_logs(path)]
    if not logs:
        return "no result_*.txt below it"
    suffixes = {path: path.suffix for path in logs}
    globs = dict.fromkeys(
        str(path.with_name(f"*{suffix}") if suffix else path) for path, suffix in suffixes.items()
    )
    count = f"{len(logs)} other files have" if len(logs) > 1 else "1 other file has"
    names = join_limited([path.name for path in logs], 3)
    command = " ".join([*globs][:MOST_GLOBS])
    return f"no result_*.txt below it, but {count} records ({names}): podium check {command}"


def misnamed_beside(targets: Sequence[Target]) -> list[str]:
    """Logs with other names next to loose logs in folders, as a report shows them."""
    folders = {target.folder: os.path.dirname(target.display_path) for target in targets}
    judged = {target.path for target in targets}
    return [
        os.path.join(display_path, name)
        for folder, display_path in folders.items()
        for name in sorted(os.listdir(folder))[:MOST_FILES]
        if f"{folder}/{name}" not in judged and holds_records(f"{folder}/{name}")
    ]
