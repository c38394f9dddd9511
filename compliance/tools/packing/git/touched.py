"""Which files of a work tree may differ from a ref: none that does is left out."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.text.terminal import clean
from podium.compliance.tools.packing.git.clone import NO_PROGRAMS, Clone

_SUBMODULE = "160000"


def touched(clone: Clone, ref: str) -> Iterator[str]:
    """Paths in which the work tree differs from a ref, or may: new ones and submodules, too.

    Some are folders. Raises UsageFault for no such ref. Nothing is written, the index neither.
    """
    named = f"{ref}^{{commit}}"
    if not clone.succeeds("rev-parse", "--verify", "--quiet", named):
        raise UsageFault(f"--since {clean(ref)}: there is no such branch, tag or commit")
    how = (*NO_PROGRAMS, "--name-only", "--no-renames", "--ignore-submodules=dirty", "-z")
    with _index(clone) as env:
        changed = clone.run("diff", *how, clone.run("rev-parse", "--verify", named), "--", env=env)
    yield from filter(None, changed.split("\0"))
    # Those that .gitignore keeps out are judged as all others
    new = clone.run("ls-files", "--others", "-z")
    yield from (path.rstrip("/") for path in new.split("\0") if path)
    yield from _unwatched(clone)


@contextmanager
def _index(clone: Clone) -> Iterator[dict[str, str]]:
    """The variables by which git uses a copy of the index: it notes there what it looked at."""
    index = clone.root / clone.run("rev-parse", "--git-path", "index")
    with tempfile.TemporaryDirectory(prefix="podium.") as folder:
        copy = Path(folder, "index")
        # A repository without any file added has none
        if index.is_file():
            shutil.copyfile(index, copy)
        yield {"GIT_INDEX_FILE": str(copy)}


def _unwatched(clone: Clone) -> Iterator[str]:
    """Paths whose changes git does not show: in submodules, and where it was told not to look."""
    for line in clone.run("ls-files", "-v", "-s", "-z").split("\0"):
        head, _, path = line.partition("\t")
        told = head[:1].islower() or (head[:1] == "S" and os.path.lexists(clone.root / path))
        if path and (told or head[2:].startswith(_SUBMODULE)):
            yield path
