"""Files and folders written under a temporary name, and renamed when complete."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from podium.compliance.errors import UsageFault
from podium.compliance.files.durable import Output, sync, sync_path, sync_tree
from podium.compliance.files.staging import staging


def refuse_occupied(folder: Path) -> None:
    """Raise UsageFault if a new folder cannot have this path: only an empty folder may exist."""
    if folder.is_symlink() or (folder.exists() and not _is_empty_folder(folder)):
        raise UsageFault(f"{folder} already exists; choose a new folder")


def _is_empty_folder(folder: Path) -> bool:
    """Whether this is a readable empty folder."""
    try:
        return folder.is_dir() and not any(folder.iterdir())
    except OSError:
        return False


def usual_mode(bits: int) -> int:
    """The permissions of a new file (0o666) or folder (0o777) with this process's umask.

    Temporary files and folders are private; the final ones have the usual permissions.
    """
    # The mask cannot be read without being set; it is restored at once, because threads share it
    mask = os.umask(0)
    os.umask(mask)
    return bits & ~mask


def new_file(path: Path) -> IO[bytes]:
    """A new file to write to, which must not exist; raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, usual_mode(0o666))
    return io.BufferedWriter(cast("io.RawIOBase", Output(handle)))


@contextmanager
def draft_folder(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A temporary folder next to `path`, which gets its name at the end or is removed.

    With `durable`, it is synced to disk before the rename, and its name after it.
    Raises UsageFault if it cannot be made, filled or renamed.
    """
    parent = path.absolute().parent
    try:
        with staging(path, draft=True) as folder:
            draft = folder / "new"
            draft.mkdir(0o700)
            yield draft
            draft.chmod(usual_mode(0o777))
            if durable:
                sync_tree(draft)
            # Replaces an empty folder with this name; fails for a folder with files
            os.replace(draft, path)
    except OSError as error:
        raise UsageFault(f"{path} cannot be made: {error.strerror}") from None
    if durable:
        sync_names(parent, path)


@contextmanager
def draft_file(path: Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """A temporary file next to `path`, which gets its name at the end or is removed.

    With `durable`, it is synced to disk before the rename, and its name after it.
    Raises UsageFault if it cannot be made, written or renamed.
    """
    try:
        with staging(path, draft=True) as folder:
            draft = folder / "new"
            with new_file(draft) as stream:
                yield stream
                stream.flush()
                if durable:
                    sync(stream.fileno())
            os.replace(draft, path)
    except OSError as error:
        raise UsageFault(f"{path} cannot be written: {error.strerror}") from None
    if durable:
        sync_names(path.absolute().parent, path)


@contextmanager
def draft_files(paths: Sequence[Path], *, durable: bool = True) -> Iterator[list[IO[bytes]]]:
    """Temporary files that get their names at the end, in this order, or are all removed.

    The paths are in one folder. If a file cannot get its name, earlier new files are removed.
    Raises UsageFault as `draft_file` does.
    """
    last = paths[-1]
    try:
        with staging(last, draft=True) as folder:
            drafts = [folder / str(number) for number in range(len(paths))]
            with ExitStack() as stack:
                streams = [stack.enter_context(new_file(draft)) for draft in drafts]
                yield streams
                for stream in streams:
                    stream.flush()
                    if durable:
                        sync(stream.fileno())
            _rename_all(drafts, paths)
    except OSError as error:
        raise UsageFault(f"{last} cannot be written: {error.strerror}") from None
    if durable:
        sync_names(last.absolute().parent, last)


def _rename_all(drafts: Sequence[Path], paths: Sequence[Path]) -> None:
    created: list[Path] = []
    try:
        for draft, path in zip(drafts, paths, strict=True):
            is_new = not os.path.lexists(path)
            os.replace(draft, path)
            created += [path] if is_new else []
    except OSError:
        for path in created:
            path.unlink(missing_ok=True)
        raise


def sync_names(folder: Path, path: Path) -> None:
    """Sync a folder's list of names, which includes the existing `path`.

    Raises UsageFault if that fails.
    """
    try:
        sync_path(folder)
    except OSError as error:
        reason = f"may be lost if the power fails: {error.strerror}"
        raise UsageFault(f"{path} is written, but {reason}") from None
