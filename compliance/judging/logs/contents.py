"""The content of a file without records of the round, in words, and its encoding."""

from __future__ import annotations

import codecs

import msgspec

from podium.logging_spec.reader.log import Log

_FORMATS = {
    "none": "no line contains `:::MLLOG`",
    "mllog": "its lines are in the format of 0.7 and later (:::MLLOG)",
    "mll": "its lines are in the format of 0.6 (:::MLL)",
    "mlpv": "its lines are in the format of 0.5 (:::MLPv0.5.0)",
    "alibaba": "its lines are in a format that no round accepts (MLPerf: …)",
}
"""The content by the format of the lines."""

_OTHER_FILES = {
    b"version https://git-lfs.": "it is a pointer of Git LFS; fetch the log with git lfs pull",
    b"<!doctype html": "it is an HTML page, perhaps from a failed download",
    b"<html": "it is an HTML page, perhaps from a failed download",
}
"""The content of files that are not logs, by their first bytes in lower case."""


def contents_of(log: Log, *, readable: bool) -> str:
    """The content in words; `readable`: the lines have the format of the round, but no record."""
    if log.head and not any(log.head):
        return "it has only null bytes: its content was not written"
    start = bytes(log.head).lstrip().lower()
    for first_bytes, contents in _OTHER_FILES.items():
        if start.startswith(first_bytes):
            return contents
    if readable and log.generation != "none":
        return "none of its lines can be read"
    return _FORMATS[log.generation]


class OtherEncoding(msgspec.Struct, frozen=True):
    """The encoding of a log that is not UTF-8: which part has it, and the fix."""

    problem: str
    fix: str


def other_encoding(log: Log) -> OtherEncoding | None:
    """The encoding of a log that is not UTF-8 throughout; None if no other is recognized."""
    start = bytes(log.head[:64])
    for mark, words, name in _MARKS:
        if start.startswith(mark):
            return _of_file(words, name)
    # In Latin text every other byte is zero, even without a byte order mark
    for offset, words, name in (
        (1, "UTF-16 (little-endian)", "UTF-16LE"),
        (0, "UTF-16 (big-endian)", "UTF-16BE"),
    ):
        if len(start) > 8 and any(start) and not any(start[offset::2]):
            return _of_file(words, name)
    position = log.data.find(_WIDE_TOKEN) if b"\0" in log.data else -1
    if position < 0:
        return None
    line = log.data.count(b"\n", 0, position) + 1
    return OtherEncoding(
        f"the file is encoded in UTF-16 from line {line} on",
        "copy the original output of the run; >> of PowerShell appends in UTF-16",
    )


def _of_file(words: str, name: str) -> OtherEncoding:
    return OtherEncoding(
        f"the file is encoded in {words}", f"convert it: iconv -f {name} -t UTF-8 FILE > NEW_FILE"
    )


_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32 (little-endian)", "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32 (big-endian)", "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16 (little-endian)", "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16 (big-endian)", "UTF-16"),
)
"""Byte order marks of other encodings, the longest first."""

_WIDE_TOKEN = b":\0:\0:\0M\0L\0L\0O\0G"
"""The token in UTF-16, with either byte order."""
