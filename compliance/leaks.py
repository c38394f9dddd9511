"""Secrets left in files: where to look, and how much; what to look for is in `leak_kinds`.

A file is first searched for a few bytes that every secret of a kind has; the detectors see only the
lines around these, and their library is imported only when there are any.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

HEAD = 1 << 20
"""Of a file, this much from its beginning is searched."""

LOG_HEAD = 1 << 16
"""Of a log, this much of the lines that are no records."""

IN_ALL = 256 << 20
"""Of a tree, this much at most; the rest is counted as left out."""

LONGEST_LINE = 4096

MOST_PER_FILE = 20

_BINARY = re.compile(
    r".*\.(?:7z|a|avi|bin|bz2|ckpt|docx?|gif|gz|h5|ico|jar|jpe?g|mov|mp[34]|nemo|np[yz]|o|onnx"
    r"|parquet|pb|pdf|pickle|pkl|png|pptx?|pth?|pyc|safetensors|so|svg|tar|tfrecord|tgz|tiff?|ttf"
    r"|webp|whl|woff2?|xlsx?|xz|zip|zst)",
    re.IGNORECASE | re.DOTALL,
)

_LOG = re.compile(r"result_[^/]*\.txt$")

MARKS = (
    *(b"AKIA", b"ASIA", b"aws", b"AWS", b"AccountKey=", b"://", b"eyJ", b"_authToken", b"T3BlbkFJ"),
    *(b"PRIVATE KEY", b"PuTTY-User-Key-File", b"pypi-Ag", b"SG.", b"xox", b"hooks.slack.com"),
    *(b"k_live_", b"ghp_", b"gho_", b"ghs_", b"github_pat_", b"glpat-", b"gldt-"),
    *(b"hf_", b"wandb", b"WANDB", b"nvapi-"),
)
"""Bytes one of which every secret that is looked for has on its line."""


@dataclass(slots=True)
class Search:
    """The search of one tree: how much it may still read, and how many files were left out."""

    left: int = IN_ALL
    skipped: int = 0

    def file(self, full: str, size: int) -> Iterator[tuple[int, str]]:
        """(line, kind of secret) of the secrets in one regular file; never follows a link."""
        if not size or _BINARY.fullmatch(full):
            return
        take = min(size, HEAD)
        if take > self.left:
            self.skipped += 1
            return
        self.left -= take
        data = read_head(full, take)
        if data and b"\0" not in data[:8192]:
            yield from find(_unlogged(data) if _LOG.search(full) else data, data)


def read_head(full: str, most: int) -> bytes:
    """The first bytes of a regular file; none where it cannot be read, or is a link or a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(full, flags)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        return os.read(handle, most)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _unlogged(data: bytes) -> bytes:
    """The lines of a log that hold no record: a record's fields come from the benchmark."""
    lines = [line for line in data.split(b"\n") if b":::MLL" not in line]
    return b"\n".join(lines)[:LOG_HEAD]


def find(data: bytes, whole: bytes | None = None) -> Iterator[tuple[int, str]]:
    """(line, kind of secret) of the secrets in some bytes; lines are those of `whole`."""
    spans = sorted({span for mark in MARKS if mark in data for span in _spans(data, mark)})
    if not spans:
        return
    from compliance.leak_kinds import kind_of_secret

    found = 0
    for start, end in spans:
        line = data[start:end]
        kind = kind_of_secret(line.decode("utf-8", "replace"))
        if kind is not None:
            yield _line(data, whole, start, line), kind
            found += 1
            if found == MOST_PER_FILE:
                return


def _spans(data: bytes, mark: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines with a mark begin and end, cut to a length around it."""
    at = data.find(mark)
    while at >= 0:
        start = data.rfind(b"\n", max(0, at - LONGEST_LINE), at) + 1
        start = start or max(0, at - LONGEST_LINE)
        end = data.find(b"\n", at, at + LONGEST_LINE)
        end = end if end >= 0 else min(len(data), at + LONGEST_LINE)
        yield start, end
        at = data.find(mark, end)


def _line(data: bytes, whole: bytes | None, start: int, line: bytes) -> int:
    if whole is None or whole is data:
        return data.count(b"\n", 0, start) + 1
    place = whole.find(line)
    return whole.count(b"\n", 0, max(place, 0)) + 1
