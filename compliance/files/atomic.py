"""Files and folders written under a temporary name, and renamed when they are whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podium.compliance.errors import UsageFault
from podium.compliance.files.staging import staging


def refuse_occupied(folder: Path) -> None:
    """Raise UsageFault where a new folder cannot have this path: only an empty one may be there."""
    if folder.is_symlink() or (folder.exists() and not _is_empty_folder(folder)):
        raise UsageFault(f"{folder} already exists; choose a new folder")


def _is_empty_folder(folder: Path) -> bool:
    """Whether this is a folder that can be read and holds nothing."""
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def usual_mode(bits: int) -> int:
    """The permissions of a new file (0o666) or folder (0o777), by this process's umask.

    Temporary files and folders are made for their owner alone; what they become is like any other.
    """
    # The mask cannot be read without being set; it is set back at once, as threads share it
    mask = os.umask(0)
    os.umask(mask)
    return bits & ~mask


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its name in the end, or is removed.

    Raises UsageFault where it cannot be made, filled or renamed.
    """
    try:
        with staging(path) as folder:
            draft = folder / "new"
            draft.mkdir(0o700)
            yield draft
            draft.chmod(usual_mode(0o777))
            # An empty folder of this name is replaced; on one that has got files it fails
            os.replace(draft, path)
    except OSError as error:
        raise UsageFault(f"{path} cannot be made: {error.strerror}") from None
