"""The index of a store: its rounds, their folders, and the files that they were made from.

A build replaces this file last, so that a store is always in its old or its new state.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_file
from podium.compliance.judging.inputs.source_files import open_plain
from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.store.schema import VERSION
from podium.logging_spec.limits import read_json

NAME = "store.json"
"""The index's file; a folder with it is a store."""

SCHEMA = "podium.results"
LARGEST = 1 << 24
"""Maximum size of an index in bytes; it has some hundred for each round."""


class RoundEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One round of a store.

    `name` is the name of its folder, with which the paths of its files begin; `rules` is the
    version of podium that judged it. `folder` has its tables, relative to the store; `hash` is the
    hash of all its inputs, `rows` the number of rows of each table.
    """

    name: str
    suite: str
    round: str
    folder: str
    hash: str
    rules: str
    files: int
    bytes: int
    rows: dict[str, int]


class Index(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_": "schema"}):
    """The content of `store.json`."""

    schema_: str
    rounds: list[RoundEntry] = []


class OtherVersion(UsageFault):
    """A store that another version of podium made."""


def own_schema() -> str:
    """The schema of the index in a store of this version."""
    return f"{SCHEMA}/{VERSION}"


def read_index(store: Path) -> Index:
    """The index of a store; raises UsageFault if there is none that this version can read."""
    path = store / NAME
    try:
        with open_plain(path) as stream:
            data = stream.read(LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        reason = f"no store at {store}; build one: podium results build ROUND --output {store}"
        raise UsageFault(reason) from None
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    try:
        document = read_json(data.decode())
        if not isinstance(document, dict) or not isinstance(document.get("schema"), str):
            raise ValueError("it is not an index")
        if document["schema"] != own_schema():
            raise OtherVersion(
                f"{store} is a store of {document['schema']!r:.60}; expected {own_schema()!r}: "
                "build it again in another folder"
            )
        index = msgspec.convert(document, Index)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    for entry in index.rounds:
        if plain_name(entry.folder) != entry.folder or not entry.folder.strip("."):
            raise UsageFault(
                f"{path} cannot be read: {entry.folder!r:.100} is not a folder of the store"
            )
    return index


def plain_name(name: str) -> str:
    """A name with only letters, digits, dots, hyphens and underscores, for a folder of a store.

    All other characters, such as a slash, a null character or half of a surrogate pair, are
    replaced.
    """
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in name)


def write_index(store: Path, rounds: list[RoundEntry], *, durable: bool = True) -> None:
    """Replace the index; from then on, the store has these rounds."""
    ordered = sorted(rounds, key=lambda entry: entry.name)
    text = json_text(Index(schema_=own_schema(), rounds=ordered))
    with draft_file(store / NAME, durable=durable) as stream:
        stream.write(text.encode())
