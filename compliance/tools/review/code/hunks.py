"""Differences of files by git, isolated from names, links, attributes and settings of submissions.

Each pair of files is copied under a number into a private folder, where one git process compares
all of them.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.git_process import READING_SECONDS, reason, run_git

CONTEXT = 3

_COMMAND = (
    *("diff", "--no-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    # The bases are known already, from hashes and lines of all trees. Histogram repeats equal lines
    # as removed and added where blocks of a file are alike
    *("--text", "--ignore-cr-at-eol", "--diff-algorithm=myers", f"-U{CONTEXT}"),
    *("--src-prefix=a/", "--dst-prefix=b/", "a", "b"),
)
_VARIABLES = {
    "GIT_DIR": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_PARAMETERS": "",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.attributesFile",
    "GIT_CONFIG_VALUE_0": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_EXTERNAL_DIFF": "",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FILE = re.compile(rb"diff --git a/a/(\d+) b/b/\d+$")


class Pair(msgspec.Struct, frozen=True):
    """The content of a base, and the content of the file that is compared with it."""

    base: bytes
    file: bytes


class RawHunk(msgspec.Struct, frozen=True):
    """Lines that differ, with their context."""

    base_line: int
    line: int
    lines: list[bytes]


def differences(pairs: Sequence[Pair]) -> list[list[RawHunk]]:
    """The hunks of each pair, in order; raises UsageFault if git cannot run."""
    hunks_by_pair: list[list[RawHunk]] = [[] for _ in pairs]
    if not pairs:
        return hunks_by_pair
    with tempfile.TemporaryDirectory(prefix="podium.") as temporary_folder:
        folder = Path(temporary_folder)
        for side in ("a", "b"):
            (folder / side).mkdir()
        for number, pair in enumerate(pairs):
            (folder / "a" / f"{number:06}").write_bytes(pair.base)
            (folder / "b" / f"{number:06}").write_bytes(pair.file)
        result = run_git(_COMMAND, folder=folder, variables=_VARIABLES, seconds=READING_SECONDS)
    # As for diff, 1 means that files differ
    if result.status not in (0, 1):
        raise UsageFault(f"git diff failed: {reason(result.errors)}")
    for number, hunks in _parsed(result.output):
        hunks_by_pair[number] = hunks
    return hunks_by_pair


def _parsed(output: bytes) -> Iterator[tuple[int, list[RawHunk]]]:
    """(number of the pair, its hunks).

    Lines of a hunk are counted: a line in it that looks like a header is content of a file.
    """
    lines = output.split(b"\n")
    index, number, hunks = 0, -1, list[RawHunk]()
    while index < len(lines):
        line = lines[index]
        index += 1
        if match := _FILE.match(line):
            if number >= 0:
                yield number, hunks
            number, hunks = int(match[1]), []
        elif header := _HEADER.match(line):
            old, new = (int(header[group] or b"1") for group in (2, 4))
            end = _end(lines, index, old, new)
            hunks.append(RawHunk(int(header[1]), int(header[3]), lines[index:end]))
            index = end
    if number >= 0:
        yield number, hunks


def _end(lines: Sequence[bytes], index: int, old: int, new: int) -> int:
    """The end of a hunk that has `old` lines of the base and `new` lines of the file."""
    while (old > 0 or new > 0) and index < len(lines):
        sign = lines[index][:1]
        old -= sign in (b" ", b"-")
        new -= sign in (b" ", b"+")
        index += 1
    # git marks a last line without a line end
    return index + (lines[index : index + 1] == [b"\\ No newline at end of file"])
