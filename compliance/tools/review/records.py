"""The records of a review: the state of each objection, and a manifest of the files it has read.

`objections/ID.toml` has `state`, `by`, `date` and `comment`: people edit it, and git merges it. The
finding itself is in `review.json`. A file that podium did not write is an objection of a reviewer.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.source_files import MOST_FILES, open_plain
from podium.compliance.text.terminal import clean
from podium.compliance.tools.review.material import Home
from podium.compliance.tools.review.model import STATES, Objection, State
from podium.logging_spec.limits import read_toml

FOLDER = "objections"
SCHEMA: Literal["podium.objection/1"] = "podium.objection/1"
LARGEST = 1 << 18
"""Maximum size of such a file in bytes."""

MOST_NAMED = 5


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of one objection; a reviewer's own has `message` and `submitter` as well."""

    schema: Literal["podium.objection/1"] = SCHEMA
    id: str
    submitter: str = ""
    rule: str = ""
    message: str = ""
    state: State = "open"
    by: str = ""
    date: str = ""
    comment: str = ""


def objection_schema() -> dict[str, Any]:
    """The JSON Schema of an objection's file."""
    return msgspec.json.schema(Record)


def record_of(objection: Objection) -> Record:
    """The content of an objection's file."""
    return Record(
        id=objection.id,
        submitter=objection.submitter,
        rule=objection.rule,
        message="" if objection.rule else objection.message,
        state=objection.state,
        by=objection.by,
        date=objection.date,
        comment=objection.comment,
    )


def record_text(record: Record) -> str:
    """The file of a record: one field on each line, so that git merges edits of other fields."""
    lines = [
        f"# {clean(record.rule or 'your own objection')}: edit state, by, date and comment.",
        f"# state is one of {', '.join(STATES)}",
    ]
    for name in ("schema", "id", "submitter", "rule", "message"):
        value = getattr(record, name)
        if value:
            lines.append(f"{name} = {_quoted(value)}")
    lines.append("")
    for name in ("state", "by", "date", "comment"):
        # A blank line between fields: git only merges changes to lines that are not adjacent
        lines += [f"{name} = {_quoted(getattr(record, name))}", ""]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    # JSON and basic strings of TOML have the same escapes, except for DEL; comments of several
    # lines keep their line ends
    plain = "\n".join(map(clean, text.split("\n")))
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_records(review: Path) -> dict[str, Record]:
    """The records of a review's folder, by id.

    Raises UsageFault if a file cannot be read or is not a valid record: a typing error must not
    lose an edit.
    """
    folder = review / FOLDER
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))
    except OSError as error:
        raise UsageFault(f"{folder} cannot be read: {error.strerror}") from None
    records: dict[str, Record] = {}
    faults = []
    for name in names:
        try:
            record = _read(folder / name)
            if name != f"{record.id}.toml":
                raise ValueError(f"the id is {record.id}; expected the name of the file")
            records[record.id] = record
        except (OSError, ValueError, msgspec.ValidationError) as error:
            faults.append(f"{folder / name}: {clean(str(error))}")
    if faults:
        surplus = len(faults) - MOST_NAMED
        suffix = [f"and {surplus} more files"] if surplus > 0 else []
        raise UsageFault("\npodium: ".join([*faults[:MOST_NAMED], *suffix]))
    return records


def _read(path: Path) -> Record:
    with open_plain(path) as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST} bytes")
    return msgspec.convert(read_toml(data.decode()), Record)


def with_records(objections: Iterable[Objection], records: dict[str, Record]) -> list[Objection]:
    """The objections with the states in their files, and the objections of reviewers."""
    all_objections = [*objections]
    ids = {objection.id for objection in all_objections}
    added = [
        Objection(
            id=record.id,
            submitter=record.submitter,
            submission="",
            rule="",
            severity="warning",
            anomaly=False,
            message=record.message or record.comment,
            official=False,
        )
        for record in records.values()
        if record.id not in ids and not record.rule
    ]
    return [_with(objection, records.get(objection.id)) for objection in (*all_objections, *added)]


def _with(objection: Objection, record: Record | None) -> Objection:
    if record is None:
        return objection
    return msgspec.structs.replace(
        objection,
        state=record.state,
        by=record.by,
        date=record.date,
        comment=record.comment,
    )


_BLOCK = 1 << 20
THREADS = 2
"""Hashing releases Python's lock: one thread reads while another computes."""

Manifest = Mapping[str, str]
"""The hash of each file, by the path that a report shows."""


def manifest_of(homes: Iterable[Home]) -> dict[str, str]:
    """The files of submissions, without links and unreadable files."""
    files = [(display_path, path) for home in homes for display_path, path in _files(home)][
        :MOST_FILES
    ]
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = pool.map(lambda file: _hash(file[1]), files)
        return {
            display_path: digest
            for (display_path, _), digest in zip(files, hashes, strict=True)
            if digest
        }


def _files(home: Home) -> Iterator[tuple[str, Path]]:
    above = "" if home.path in ("", ".") else f"{home.path}/"
    for folder, folders, names in os.walk(home.root):
        # The .git folder of a clone changes with every fetch
        folders[:] = sorted(name for name in folders if name != ".git")
        below = os.path.relpath(folder, home.root)
        prefix = above if below == "." else f"{above}{below}/"
        yield from ((f"{prefix}{name}", Path(folder, name)) for name in sorted(names))


def _hash(path: Path) -> str:
    hashed = hashlib.blake2b(digest_size=12)
    try:
        with open_plain(path) as stream:
            while block := stream.read(_BLOCK):
                hashed.update(block)
    except OSError:
        return ""
    return hashed.hexdigest()


def differences(before: Manifest, after: Manifest) -> dict[str, list[str]]:
    """The paths that were added, removed or changed between two states."""
    return {
        "added": sorted(after.keys() - before.keys()),
        "removed": sorted(before.keys() - after.keys()),
        "changed": sorted(
            path for path in before.keys() & after.keys() if before[path] != after[path]
        ),
    }
