"""The index of a store: which rounds it holds, in which folders, made of which files.

It is the one file that a build replaces last, so that a store is always that of before or after.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.files.atomic import draft_file
from podium.compliance.files.given import read_given
from podium.compliance.reporting.json_text import json_text
from podium.compliance.tools.store.schema import VERSION
from podium.logging_spec.limits import read_json

NAME = "store.json"
"""The index's file; a folder with it is a store."""

SCHEMA = "podium.results"
LARGEST = 1 << 24
"""Bytes; an index has some hundred for each round."""


class RoundEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One round of a store.

    `name` is its folder's, which the paths of its files begin with; `rules` the version of podium
    that judged it. `folder` is where its tables lie below the store, `hash` of all it was made
    from, `rows` how many each table has.
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
    """What `store.json` holds."""

    schema_: str
    rounds: list[RoundEntry] = []


class OtherVersion(UsageFault):
    """A store that another version of podium has made."""


def own_schema() -> str:
    """What the index of a store of this version begins with."""
    return f"{SCHEMA}/{VERSION}"


def read_index(store: Path) -> Index:
    """The index of a store; raises UsageFault where there is none that this version can read."""
    path = store / NAME
    try:
        data = read_given(path, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        reason = f"no store at {store}: podium results build ROUND --output {store}"
        raise UsageFault(reason) from None
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    try:
        found = read_json(data.decode())
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise ValueError("it is no index")
        if found["schema"] != own_schema():
            raise OtherVersion(
                f"{store} is a store of {found['schema']!r:.60}, and this podium reads "
                f"{own_schema()!r}; build it anew in another folder"
            )
        index = msgspec.convert(found, Index)
    except (ValueError, msgspec.ValidationError) as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    for entry in index.rounds:
        if entry.folder != Path(entry.folder).name or entry.folder in ("", ".", ".."):
            raise UsageFault(f"{path} cannot be read: {entry.folder!r} is no folder of the store")
    return index


def write_index(store: Path, rounds: list[RoundEntry], *, durable: bool = True) -> None:
    """Replace the index; the store is that of these rounds from then on."""
    ordered = sorted(rounds, key=lambda one: one.name)
    text = json_text(Index(schema_=own_schema(), rounds=ordered))
    with draft_file(store / NAME, durable=durable) as stream:
        stream.write(text.encode())
