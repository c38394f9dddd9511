"""Edits of a complete submission, as data: how a rule's example violates it.

The submission is that of submitter Acme: the result `results/ex_n8/llama31_405b` of training 5.1,
closed division, three runs on the system `systems/ex_n8.json`, with code below `benchmarks/`.
"""

from __future__ import annotations

from typing import Any

import msgspec

SYSTEM = "systems/ex_n8.json"
RESULT = "results/ex_n8/llama31_405b"


class Edit(msgspec.Struct, frozen=True):
    """One edit: its verb, the path in the submission, and what is written there."""

    verb: str
    path: str
    value: Any = None

    def __str__(self) -> str:
        """The edit as a line of a rule's page."""
        path = self.path.replace("\t", "\\t")
        match self.verb:
            case "write":
                return f"{path} holds {self.value!r}" if self.value else f"{path} exists"
            case "rename" | "copy" | "link":
                words = {"rename": "is renamed to", "copy": "is copied to", "link": "is a link to"}
                return f"{self.path} {words[self.verb]} {self.value}"
            case "set":
                name, value = self.value
                return f"{self.path} has {name}: {msgspec.json.encode(value).decode()}"
            case "append":
                return f"{self.path} ends with the line {self.value}"
            case "drop":
                return f"{self.path} lacks {self.value}"
            case _:
                return f"{self.path} is missing"


def remove(path: str) -> Edit:
    """Without a file, or a folder and all in it."""
    return Edit("remove", path)


def write(path: str, text: str = "") -> Edit:
    """With a file of that text, in the place of any that was there."""
    return Edit("write", path, text)


def append(path: str, line: str) -> Edit:
    """With another line at the end of a file."""
    return Edit("append", path, line)


def rename(path: str, to: str) -> Edit:
    """With a file or folder elsewhere."""
    return Edit("rename", path, to)


def copy(path: str, to: str) -> Edit:
    """With a file twice."""
    return Edit("copy", path, to)


def link(path: str, to: str) -> Edit:
    """With a symbolic link, its target as written."""
    return Edit("link", path, to)


def set_to(path: str, name: str, value: Any) -> Edit:
    """With another value of a JSON document's field, or of a log's key (in each of its records)."""
    return Edit("set", path, (name, value))


def drop(path: str, name: str) -> Edit:
    """Without a JSON document's field, or a log's key."""
    return Edit("drop", path, name)
