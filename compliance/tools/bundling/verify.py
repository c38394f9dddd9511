"""Compare a tree with its receipt: every file, without missing or extra files."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from podium.compliance.text.terminal import clean
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.compliance.tools.packing.receipt import RECEIPT_FILE, PackedFile, Receipt


def check_against(receipt: Receipt, folder: Path) -> Path:
    """Compare an unpacked folder with a receipt; returns the submitter's folder in it.

    Raises Refused with every file that differs.
    """
    tree = submitter_folder(folder, receipt.submitter)
    problems = list(differences(tree, receipt))
    entries = sorted(path.name for path in folder.iterdir()) if tree != folder else []
    problems += [f"{clean(name)}: is outside the tree" for name in entries if name != tree.name]
    if problems:
        files = "1 difference" if len(problems) == 1 else f"{len(problems)} differences"
        lines = "".join(f"\n  {line}" for line in problems)
        raise Refused(f"the tree differs from the receipt, {files}:{lines}")
    return tree


def submitter_folder(folder: Path, submitter: str) -> Path:
    """The submitter's tree: this folder, the subfolder with that name, or the only subfolder."""
    if (folder / "results").is_dir() or (folder / "systems").is_dir():
        return folder
    below = [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    matches = [path for path in below if path.name == submitter]
    if matches:
        return matches[0]
    trees = [path for path in below if (path / "results").is_dir() or (path / "systems").is_dir()]
    # Even without results, so that every missing file is reported
    candidates = below if len(list(folder.iterdir())) == 1 else []
    return (trees if len(trees) == 1 else candidates or [folder])[0]


def differences(tree: Path, receipt: Receipt) -> Iterator[str]:
    """One line for every file that differs, is missing, or is not in the receipt; sorted."""
    actual = set(_files(tree))
    packed_files = {file.path: file for file in receipt.files}
    for path in sorted(actual | packed_files.keys()):
        if path not in actual:
            yield f"{clean(path)}: is missing"
        elif path not in packed_files:
            # `podium pack --receipt-in-tree` writes it there; a receipt does not list itself
            if path != RECEIPT_FILE or _difference(tree / path, _as_file(receipt)):
                yield f"{clean(path)}: is not in the receipt"
        elif difference := _difference(tree / path, packed_files[path]):
            yield f"{clean(path)}: {difference}"


def _as_file(receipt: Receipt) -> PackedFile:
    data = receipt.to_json().encode()
    digest = hashlib.sha256(data).hexdigest()
    return PackedFile(path=RECEIPT_FILE, size=len(data), sha256=digest, source=RECEIPT_FILE)


def _files(tree: Path) -> Iterator[str]:
    """All files and links in a tree, as paths with slashes."""
    # Without onerror, files in an unreadable folder would appear to be missing
    for folder, names, files in os.walk(tree, onerror=_unreadable):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in (*files, *links):
            yield Path(folder, name).relative_to(tree).as_posix()


def _unreadable(error: OSError) -> None:
    raise Refused(f"{clean(str(error.filename))}: cannot be read: {error.strerror}")


def _difference(path: Path, packed: PackedFile) -> str | None:
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return _link_difference(os.readlink(path), packed)
        # Before opening: opening a pipe would block
        if not stat.S_ISREG(status.st_mode):
            return "is not a regular file"
        if packed.link is not None:
            return "is a file; expected a link"
        if status.st_size != packed.size:
            return f"has {status.st_size} bytes; expected {packed.size}"
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if digest != packed.sha256:
        return f"has the sha256 hash {digest}; expected {packed.sha256}"
    if os.name == "posix" and bool(status.st_mode & stat.S_IXUSR) != packed.executable:
        return "must be executable" if packed.executable else "must not be executable"
    return None


def _link_difference(target: str, packed: PackedFile) -> str | None:
    if packed.link is None:
        return "is a link; expected a file"
    return None if target == packed.link else f"links to {clean(target)}; expected {packed.link}"
