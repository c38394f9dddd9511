"""Which files of a work tree may differ from a ref: none that does is left out."""

from __future__ import annotations

from collections.abc import Iterator

from podium.compliance.tools.packing.git.clone import Clone
from podium.compliance.tools.packing.git.compare import differing


def touched(clone: Clone, ref: str) -> Iterator[str]:
    """Paths in which the work tree differs from a ref, or may: new ones and submodules, too.

    Some are folders. Raises UsageFault for no such ref. Nothing is written, and the index is not
    read: each file is hashed.
    """
    tree = clone.objects.tree_of(clone.oid_of(ref))
    yield from differing(clone.root, tree, clone.objects)
