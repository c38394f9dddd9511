"""Checksums of files in the format of md5sum, sha1sum, sha256sum and sha512sum."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple

from podium.reference_runs.errors import DataMissing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

NAME = "SHA256SUMS"
"""The file of checksums that `prepare` writes and `verify` looks for."""
KINDS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}
"""Number of digits of a checksum → hash function."""


class Sum(NamedTuple):
    """The checksum of a file, as published or recorded."""

    path: str
    digits: str

    @property
    def kind(self) -> str:
        """The name of the algorithm."""
        return KINDS[len(self.digits)]


def read_sums(path: Path) -> list[Sum]:
    """The checksums in a file, with paths relative to the dataset's folder; raises DataMissing."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise DataMissing(f"{path} cannot be read: {error}") from None
    return [_parsed(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _parsed(path: Path, number: int, line: str) -> Sum:
    digits, _, name = line.strip().partition(" ")
    # A star marks a file that was read in binary mode, which changes nothing here
    name = name.lstrip().removeprefix("*").removeprefix("./")
    usual = len(digits) in KINDS and set(digits.lower()) <= set("0123456789abcdef")
    if not usual or not name or os.path.isabs(name) or ".." in name.split("/"):
        raise DataMissing(f"{path}:{number} is not a checksum followed by a path below the folder")
    return Sum(name, digits.lower())


def differences(folder: Path, sums: Iterable[Sum], watch: Callable[[Sum], object]) -> Iterator[str]:
    """A message for each file that is missing or differs; all files are read."""
    for entry in sums:
        path = folder / entry.path
        try:
            actual = digest(path, entry.kind)
        except OSError as error:
            yield f"{path} cannot be read: {error.strerror}"
        else:
            if actual != entry.digits:
                yield f"{path} has the {entry.kind} checksum {actual}; expected {entry.digits}"
        watch(entry)


def digest(path: Path, kind: str = "sha256") -> str:
    """The checksum of a file; raises OSError."""
    with path.open("rb") as stream:
        # Datasets were published with the weak hashes: they detect damage, not fraud
        return hashlib.file_digest(
            stream, lambda: hashlib.new(kind, usedforsecurity=False)
        ).hexdigest()


def sums_text(folder: Path, paths: Iterable[Path]) -> str:
    """Lines that `sha256sum --check` accepts; raises OSError."""
    lines = (f"{digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in paths)
    return "".join(lines)
