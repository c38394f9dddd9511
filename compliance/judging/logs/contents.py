"""The content of a file without records of the round, in words."""

from __future__ import annotations

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
    start = bytes(log.head).lstrip().lower()
    for first_bytes, contents in _OTHER_FILES.items():
        if start.startswith(first_bytes):
            return contents
    if readable and log.generation != "none":
        return "none of its lines can be read"
    return _FORMATS[log.generation]
