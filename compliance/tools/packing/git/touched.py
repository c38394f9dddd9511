"""The files of a work tree that may differ from a ref; the list is never too short."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.tools.packing.git.clone import Clone
from podium.compliance.tools.packing.git.compare import differing


def touched(clone: Clone, ref: str) -> Iterator[str]:
    """Paths in which the work tree may differ from a ref, including new files and submodules.

    Some paths are folders. Raises UsageFault for an unknown ref. Writes nothing and does not read
    the index: it hashes each file.
    """
    tree = clone.objects.tree_of(clone.oid_of(ref))
    yield from differing(clone.root, tree, clone.objects)
