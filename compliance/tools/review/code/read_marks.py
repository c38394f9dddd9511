"""`read.toml`: hashes of files that have been reviewed, kept in git like objections.

There is one line for each file, in the order of the hashes: git merges additions by reviewers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_file
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.code.inventory import HASH_BYTES
from podium.logging_spec.limits import read_toml

READ_FILE = "read.toml"
SCHEMA: Literal["podium.read/1"] = "podium.read/1"
LARGEST = 64 << 20

_HASH = re.compile(rf"[0-9a-f]{{{2 * HASH_BYTES}}}")
_HEAD = f"""# Files that have been read: podium review does not show them again.
# `podium review code ROUND SUBMITTER/BENCHMARK --read read.toml --mark-read NAME` adds lines.
schema = "{SCHEMA}"

[files]
"""


class ReadMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reader of a file, the date, and the path of the file at that time."""

    by: str
    date: str = ""
    path: str = ""


class ReadRecords(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of `read.toml`."""

    schema: Literal["podium.read/1"]
    files: Mapping[str, ReadMark] = {}


def read_schema() -> dict[str, Any]:
    """The JSON Schema of `read.toml`."""
    return msgspec.json.schema(ReadRecords)


def read_marks(path: Path) -> dict[str, ReadMark]:
    """The files that are recorded as read, by hash; raises UsageFault for an invalid file."""
    try:
        with open_plain(path) as stream:
            data = stream.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f"the file is larger than {LARGEST >> 20} MiB")
        records = msgspec.convert(read_toml(data.decode()), ReadRecords)
        invalid = next((digest for digest in records.files if not _HASH.fullmatch(digest)), None)
        if invalid is not None:
            raise ValueError(
                f"{invalid} is not a hash; expected {2 * HASH_BYTES} hexadecimal digits"
            )
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageFault(f"{path}: {clean(str(error))}") from None
    return {**records.files}


def write_marks(path: Path, marks: Mapping[str, ReadMark]) -> None:
    """Write a file of records; raises UsageFault if it cannot be written."""
    with draft_file(path) as stream:
        stream.write(marks_text(marks).encode("utf-8", "replace"))


def marks_text(marks: Mapping[str, ReadMark]) -> str:
    """The text of `read.toml`."""
    lines = [
        f'"{digest}" = {{ by = {_quoted(mark.by)}, date = {_quoted(mark.date)}, '
        f"path = {_quoted(mark.path)} }}\n"
        for digest, mark in sorted(marks.items())
    ]
    return _HEAD + "".join(lines)


def _quoted(text: str) -> str:
    # A basic string of TOML: `clean` leaves no control character
    escaped = clean(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
