"""Edits of a complete submission, as data: how a rule's example violates it.

The submission is from the submitter Acme: the result `results/ex_n8/llama31_405b` of training 5.1,
closed division, three runs on the system `systems/ex_n8.json`, with code below `benchmarks/`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

SYSTEM = "systems/ex_n8.json"
RESULT = "results/ex_n8/llama31_405b"


class Edit(msgspec.Struct, frozen=True):
    """One edit: its verb, the path in the submission, and the new value."""

    verb: str
    path: str
    value: Any = ""

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


remove = partial(Edit, "remove")
"""Remove a file, or a folder with its content: `remove(path)`."""

write = partial(Edit, "write")
"""Write a file with this text, or empty; an existing file is replaced: `write(path, text)`."""

append = partial(Edit, "append")
"""Append a line to a file: `append(path, line)`."""

rename = partial(Edit, "rename")
"""Rename a file or folder: `rename(path, to)`."""

copy = partial(Edit, "copy")
"""Copy a file: `copy(path, to)`."""

link = partial(Edit, "link")
"""Create a symbolic link with this literal target: `link(path, to)`."""

drop = partial(Edit, "drop")
"""Remove a field of a JSON document, or a key of a log: `drop(path, name)`."""


def set_to(path: str, name: str, value: Any) -> Edit:
    """Set a field of a JSON document, or a key of a log in all its records, to another value."""
    return Edit("set", path, (name, value))
