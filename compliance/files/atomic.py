"""What is written beside its place under a temporary name, to take its name when it is whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podium.compliance.errors import UsageFault


def is_empty_folder(folder: Path) -> bool:
    """Whether this is a folder that can be read and holds nothing."""
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def usual_mode(bits: int) -> int:
    """The permissions of a new file (0o666) or folder (0o777), by this process's umask.

    Temporary files and folders are made for their owner alone; what they become is like any other.
    """
    mask = os.umask(0)
    os.umask(mask)
    return bits & ~mask


@contextmanager
def draft_folder(place: Path) -> Iterator[Path]:
    """A folder beside its place that takes its name in the end, or goes away.

    Raises UsageFault where it cannot be made, filled or renamed.
    """
    try:
        draft = Path(tempfile.mkdtemp(dir=place.absolute().parent, prefix=f".{place.name}."))
    except OSError as error:
        raise UsageFault(f"{place} cannot be made: {error.strerror}") from None
    try:
        yield draft
        draft.chmod(usual_mode(0o777))
        os.replace(draft, place)
    except OSError as error:
        raise UsageFault(f"{place} cannot be made: {error.strerror}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
