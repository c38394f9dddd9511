"""The round of a packed tree, in a small file next to the tree."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from podium.compliance.errors import UsageFault
from podium.compliance.judging.inputs.boundary import outside
from podium.compliance.judging.inputs.source_files import small_json

SCHEMA = "podium.packed/1"


class PackedRound(msgspec.Struct, frozen=True):
    """The round that a tree was packed for."""

    usage: str
    round: str


def marker_of(tree: str) -> str:
    """The file next to a tree that has its round: `.Acme.podium.json` for `Acme`."""
    folder, name = os.path.split(tree)
    return os.path.join(folder, f".{name}.podium.json")


def read_packed_round(tree: str) -> PackedRound | None:
    """The round in the file next to a tree, or None; raises UsageFault for an invalid file."""
    path = marker_of(tree)
    if outside(path):
        return None
    try:
        data: Any = small_json(path)
    # All folders up to the root are searched: a folder that the user cannot read has no file
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageFault(f"{path} cannot be read: {error}") from None
    members = data if isinstance(data, dict) else {}
    usage, name = members.get("usage"), members.get("round")
    if members.get("schema") != SCHEMA or not (isinstance(usage, str) and isinstance(name, str)):
        raise UsageFault(
            f"{path} was not written by podium pack; remove it, or pack the tree again"
        )
    return PackedRound(usage, name)


def packed_round_text(usage: str, name: str) -> str:
    """The content of the file."""
    return msgspec.json.encode({"schema": SCHEMA, "usage": usage, "round": name}).decode() + "\n"
