"""The search for secrets in files; their patterns are in `secret_detectors`.

A file is first searched for marks that every secret of a kind has. The detectors see only the lines
with such a mark, and their library is imported only if there are any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

from podium.compliance.judging.inputs.source_files import read_plain
from podium.logging_spec.reader.log import HEAD as LOG_HEAD
from podium.logging_spec.reader.log import RECORD, Log
from podium.logging_spec.reader.words import finder

HEAD = 1 << 20
"""Bytes that are searched, from the beginning of a file."""

IN_ALL = 256 << 20
"""Bytes of a tree that are read for the search; further files are counted as left out."""

LONGEST_LINE = 4096
"""Characters before and after a mark that are searched: a line may be a whole file."""

LONGEST_SECRET = 2048
"""Longest secret, in characters: a secret that begins earlier than this before the end of the
searched text is complete."""

LONGEST_KEY = 200
"""Maximum number of lines of a private key."""

# A file full of keys is reported, not listed line by line
MOST_PER_FILE = 20

_ENDINGS = (
    ".7z .a .avi .bin .bz2 .ckpt .doc .docx .gif .gz .h5 .ico .jar .jpeg .jpg .mov .mp3 .mp4 .nemo "
    ".npy .npz .o .onnx .parquet .pb .pdf .pickle .pkl .png .ppt .pptx .pt .pth .pyc .safetensors "
    ".so .svg .tar .tfrecord .tgz .tif .tiff .ttf .webp .whl .woff .woff2 .xls .xlsx .xz .zip "
    ".zst"
)
_BINARY = frozenset(_ENDINGS.split())
"""Extensions of binary files."""

_MARKS = (
    (b"://", rb"://(?:[^\s/@:]+:[^\s/@]+|[\w-]{16,})@"),
    (b"token=", rb"[?&][\w-]{0,20}token=[\w.-]{16}"),
    (b"key=", rb"[?&](?:[\w-]{0,20}[_-])?(?:api)?key=[\w.-]{16}"),
    (b"sudo", rb"sudo\s.{0,80}?-\w*S"),
    (b"sshpass", rb"sshpass\s+-p"),
    (b"curl", rb"curl\s.{0,300}?(?<=\s)(?:-u|--user)"),
    (b"mysql", rb"mysql\w*\s.{0,300}?(?<=\s)-p[^\s]"),
    (b"login", rb"login\s.{0,300}?(?<=\s)(?:-p|--password)[\s=]"),
    (b"PASSWORD=", rb"PASSWORD=[^\s]"),
    (b"SECRET_ACCESS_KEY=", rb"SECRET_ACCESS_KEY=[^\s]"),
    (b"AKIA", rb"AKIA[0-9A-Z]{16}"),
    (b"ASIA", rb"ASIA[0-9A-Z]{16}"),
    (b"aws", rb"aws.{0,80}?['\"][0-9a-zA-Z/+]{40}['\"]"),
    (b"AWS", rb"AWS.{0,80}?['\"][0-9a-zA-Z/+]{40}['\"]"),
    (b"AccountKey=", rb"AccountKey="),
    (b"eyJ", rb"eyJ[\w=-]{1,1000}\.[\w=-]"),
    (b"_authToken", rb"_authToken="),
    (b"T3BlbkFJ", rb"T3BlbkFJ"),
    (b"PRIVATE KEY", rb"BEGIN [A-Z0-9 ]{0,20}PRIVATE KEY"),
    (b"PuTTY-User-Key-File", rb"PuTTY-User-Key-File"),
    (b"pypi-Ag", rb"pypi-Ag"),
    (b"SG.", rb"SG\.[\w-]{22}\."),
    (b"xox", rb"xox[abposr]-\d"),
    (b"hooks.slack.com", rb"hooks\.slack\.com/services/T"),
    (b"k_live_", rb"[rs]k_live_"),
    (b"ghp_", rb"ghp_\w{36}"),
    (b"gho_", rb"gho_\w{36}"),
    (b"ghs_", rb"ghs_\w{36}"),
    (b"github_pat_", rb"github_pat_\w{50}"),
    (b"glpat-", rb"glpat-"),
    (b"gldt-", rb"gldt-"),
    (b"hf_", rb"hf_[A-Za-z0-9]{34}"),
    (b"wandb", rb"(?i:wandb[\w .-]{0,30}[\s:=\"']{1,6}[0-9a-f]{40})"),
    (b"WANDB", rb"(?i:wandb[\w .-]{0,30}[\s:=\"']{1,6}[0-9a-f]{40})"),
    (b"nvapi-", rb"nvapi-[\w-]{60}"),
)
"""Bytes that each kind of secret always has, and a pattern that its line must match. A pattern is
compiled when it is needed, which is very rare.
"""

_REDACTED = re.compile(rb"(?i)redacted|example|\.\.\.|<[\w ]+>|\*{4}|x{8}")
"""Texts in examples that replace a secret."""

_find_marks = finder([literal for literal, _ in _MARKS])
"""Finds all marks in one pass; nearly every file has none."""

LONGEST_MARK = max(len(literal) for literal, _ in _MARKS)

Secrets = tuple[tuple[int, str], ...]
"""(line, kind of secret), in order."""


class Search(msgspec.Struct):
    """The search of one tree: how many bytes it may still read, and how many files it left out."""

    left: int = msgspec.field(default_factory=lambda: IN_ALL)
    skipped: int = 0


def takes(name: str, size: int) -> int:
    """How many bytes of a file are searched: none if it has the extension of a binary file.

    Only the beginning of a log is searched, and in it only the lines that are not records.
    """
    log = is_log(name)
    # A name may consist of the extension
    if not log and os.path.splitext("x" + name)[1].lower() in _BINARY:
        return 0
    return min(size, LOG_HEAD if log else HEAD)


def is_log(path: str) -> bool:
    """Whether a file is named like a log, in which only lines that are not records are searched."""
    name = path.rpartition("/")[2]
    return name.endswith(".txt") and "result_" in name


def secrets_of(log: Log) -> Secrets | None:
    """The secrets in a log's beginning; None if the log has not kept it."""
    if not log.data:
        return None
    marks = _find_marks(log.head)
    return _at_marks(marks, log.data[:LOG_HEAD], is_log=True) if marks else ()


def secrets_in(data: bytes, *, is_log: bool = False) -> Secrets | None:
    """The secrets in the beginning of a file; None if it is binary."""
    return _at_marks(_find_marks(data), data, is_log=is_log)


def secret_lines(data: bytes) -> frozenset[int]:
    """The lines of a file that must not be shown: those with a secret, and the text of keys."""
    found = _at_marks(_find_marks(data), data, is_log=False, most=len(data)) or ()
    lines = {line for line, _ in found}
    if not found:
        return frozenset()
    from podium.compliance.judging.repository.secret_detectors import PRIVATE_KEY

    text = data.split(b"\n")
    for first in [line for line, kind in found if kind == PRIVATE_KEY]:
        for line in range(first, min(first + LONGEST_KEY, len(text)) + 1):
            lines.add(line)
            if b"END" in text[line - 1] and b"PRIVATE KEY" in text[line - 1]:
                break
    return frozenset(lines)


def read_head(path: str, limit: int) -> bytes:
    """The first bytes of a regular file; empty if it cannot be read, or is a link or a pipe."""
    try:
        return read_plain(path, limit)
    except OSError:
        return b""


def _at_marks(
    marks: list[tuple[int, int, int]], data: bytes, *, is_log: bool, most: int = MOST_PER_FILE
) -> Secrets | None:
    """The secrets at the marks found in a text; in a log, only in lines that are not records."""
    # Like git, treat a file with a null byte near its beginning as binary
    if b"\0" in data[:8192]:
        return None
    if not marks:
        return ()
    lines = [*_lines([position for _, position, _ in marks], data, is_log=is_log)]
    if not lines:
        return ()
    # Matches do not overlap, but marks may: a hidden mark begins inside another.
    context = b"\n".join([data[start : end + LONGEST_MARK] for _, start, end in marks])
    patterns = [re.compile(pattern) for literal, pattern in _MARKS if literal in context]
    spans: list[tuple[int, int]] = []
    for start, end in lines:
        searched_to = start  # earlier text is already searched
        for position in sorted(
            [m.start() for pattern in patterns for m in pattern.finditer(data, start, end)]
        ):
            if position >= searched_to:
                stop = min(end, position + LONGEST_LINE)
                spans.append((max(start, position - LONGEST_LINE), stop))
                # Spans overlap by the longest secret, so that no secret is split
                searched_to = stop if stop == end else stop - LONGEST_SECRET
    return tuple(_kinds_at(spans, data, most))


def _kinds_at(spans: list[tuple[int, int]], data: bytes, most: int) -> Iterator[tuple[int, str]]:
    """(line, kind of secret) of each secret in some ascending spans of a text, at most so many."""
    if not spans:
        return
    from podium.compliance.judging.repository.secret_detectors import PRIVATE_KEY, kind_of_secret

    count, line, counted_to = 0, 1, 0
    for start, end in spans:
        kind = kind_of_secret(data[start:end].decode("utf-8", "replace"))
        # The lines of a key in an example do not contain a key
        is_redacted = kind == PRIVATE_KEY and _REDACTED.search(data, end, end + LONGEST_MARK)
        if kind is not None and not is_redacted:
            line += data.count(b"\n", counted_to, start)
            counted_to = start
            yield line, kind
            count += 1
            if count == most:
                return


def _lines(positions: list[int], data: bytes, *, is_log: bool) -> Iterator[tuple[int, int]]:
    """Start and end of the lines at some ascending positions; in a log, up to the record.

    The fields of a record come from the benchmark.
    """
    end = 0
    for position in positions:
        if position < end:
            continue
        start = data.rfind(b"\n", end, position) + 1
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        stop = data.find(RECORD, start, end) if is_log else -1
        if stop < 0 or position < stop:
            yield start, end if stop < 0 else stop
