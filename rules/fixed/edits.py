"""Edits of a complete submission, as data: how a rule's example violates it.

The submission is from the submitter Acme: the result `results/ex_n8/llama31_405b` of training 5.1,
closed division, three runs on the system `systems/ex_n8.json`, with code below `benchmarks/`.
"""

from __future__ import annotations

from typing import Any

import msgspec

SYSTEM = "systems/ex_n8.json"
RESULT = "results/ex_n8/llama31_405b"


class Edit(msgspec.Struct, frozen=True):
    """One edit: its verb, the path in the submission, and the new value."""

    verb: str
    path: str
    value: Any = None

    def __str__(self) -> str:
        """The edit as a line of a rule's page."""
        path = self.path.replace("\t", "\\t")
        match self.verb:
            case "write":
                return f"{path} contains {self.value!r}" if self.value else f"{path} exists"
            case "rename" | "copy" | "link":
                phrases = {
                    "rename": "is renamed to",
                    "copy": "is copied to",
                    "link": "is a link to",
                }
                return f"{self.path} {phrases[self.verb]} {self.value}"
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
    """Remove a file, or a folder with its content."""
    return Edit("remove", path)


def write(path: str, text: str = "") -> Edit:
    """Write a file with this text; an existing file is replaced."""
    return Edit("write", path, text)


def append(path: str, line: str) -> Edit:
    """Append a line to a file."""
    return Edit("append", path, line)


def rename(path: str, to: str) -> Edit:
    """Rename a file or folder."""
    return Edit("rename", path, to)


def copy(path: str, to: str) -> Edit:
    """Copy a file."""
    return Edit("copy", path, to)


def link(path: str, to: str) -> Edit:
    """Create a symbolic link with this literal target."""
    return Edit("link", path, to)


def set_to(path: str, name: str, value: Any) -> Edit:
    """Set a field of a JSON document, or a key of a log in all its records, to another value."""
    return Edit("set", path, (name, value))


def drop(path: str, name: str) -> Edit:
    """Remove a field of a JSON document, or a key of a log."""
    return Edit("drop", path, name)
