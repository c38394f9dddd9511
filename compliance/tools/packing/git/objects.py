"""Commits and trees of a clone's object store, each verified against its id.

When git reads an object, it does not verify that the content has the hash that is its id. The
author of an object store could therefore give a known commit a different content.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from podium.compliance.errors import UsageFault

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\w+) (\d+)\n")
_AT_ONCE = 1000
_TAGS = 10
"""The longest chain of tags that point to tags."""

FOLDER = "40000"
LINK = "120000"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a tree: its mode in octal, and its object id."""

    mode: str
    oid: str


Tree = Mapping[bytes, Entry]


class Objects:
    """The objects of a clone; `ask` passes input to git and returns its output."""

    def __init__(self, ask: Callable[[Sequence[str], bytes], bytes]) -> None:
        self._ask = ask

    def tree_of(self, oid: str) -> str:
        """The tree of a commit, or of the commit that a tag points to; raises UsageFault."""
        for _ in range(_TAGS):
            kind, content = self._read([oid])[oid]
            prefix = {"commit": rb"tree ", "tag": rb"object "}.get(kind)
            match = prefix and re.match(prefix + rb"([0-9a-f]{40,64})\n", content)
            if not match:
                break
            oid = match[1].decode()
            if kind == "commit":
                return oid
        raise UsageFault(f"{oid} is not a commit")

    def verify(self, oids: Sequence[str]) -> None:
        """Raise UsageFault if an object does not match its id."""
        for start in range(0, len(oids), _AT_ONCE):
            self._read(oids[start : start + _AT_ONCE])

    def trees(self, oids: Sequence[str]) -> dict[str, Tree]:
        """Trees by their ids."""
        unique = list(dict.fromkeys(oids))
        trees: dict[str, Tree] = {}
        for start in range(0, len(unique), _AT_ONCE):
            for oid, (kind, content) in self._read(unique[start : start + _AT_ONCE]).items():
                if kind != "tree":
                    raise UsageFault(f"the object {oid} in the clone is not a tree")
                trees[oid] = dict(_entries(content, len(oid) // 2))
        return trees

    def _read(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        text = "".join(f"{oid}\n" for oid in oids).encode()
        output, position, objects = self._ask(("cat-file", "--batch"), text), 0, {}
        for oid in oids:
            header = _HEADER.match(output, position)
            if header is None or header[1].decode() != oid:
                raise UsageFault(f"{oid} is not in the clone; fetch it")
            kind, size = header[2].decode(), int(header[3])
            content = output[header.end() : header.end() + size]
            position = header.end() + size + 1
            if object_id(kind, content, len(oid)) != oid:
                raise UsageFault(f"the object {oid} in the clone is damaged; run `git fsck`")
            objects[oid] = kind, content
        return objects


def hasher(digits: int) -> hashlib._Hash:
    """The hash function for object ids with this number of digits."""
    return hashlib.new("sha1" if digits == 40 else "sha256", usedforsecurity=False)


def object_id(kind: str, content: bytes, digits: int) -> str:
    """The id of an object."""
    digest = hasher(digits)
    digest.update(f"{kind} {len(content)}\0".encode())
    digest.update(content)
    return digest.hexdigest()


def _entries(content: bytes, width: int) -> Iterator[tuple[bytes, Entry]]:
    position = 0
    while position < len(content):
        space = content.index(b" ", position)
        end = content.index(b"\0", space)
        oid = content[end + 1 : end + 1 + width].hex()
        mode = content[position:space].decode("ascii").lstrip("0")
        yield content[space + 1 : end], Entry(mode, oid)
        position = end + 1 + width
