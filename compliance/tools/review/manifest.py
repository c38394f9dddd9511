"""The hash of every file of a round, so that the next state of it shows what changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from podium.compliance.judging.inputs.source_files import MOST_FILES, open_plain
from podium.compliance.tools.review.material import Home

_BLOCK = 1 << 20
THREADS = 2
"""The hash is worked out without Python's lock: one thread reads while another works."""

Manifest = Mapping[str, str]
"""The hash of each file, by the path that a report shows."""


def manifest_of(homes: Iterable[Home]) -> dict[str, str]:
    """The files of submissions; links, and what cannot be read, are left out."""
    places = [(shown, path) for home in homes for shown, path in _files(home)][:MOST_FILES]
    with ThreadPoolExecutor(THREADS) as pool:
        hashes = pool.map(lambda place: _hash(place[1]), places)
        return {shown: found for (shown, _), found in zip(places, hashes, strict=True) if found}


def _files(home: Home) -> Iterator[tuple[str, Path]]:
    above = "" if home.path in ("", ".") else f"{home.path}/"
    for folder, folders, names in os.walk(home.root):
        # A clone's own bookkeeping changes with every fetch
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
