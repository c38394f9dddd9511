"""Hashes of archives, and their side files for `sha256sum -c` and `sha1sum -c`."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import IO

from podium.compliance.errors import UsageFault
from podium.compliance.tools.bundling.format.archive import CHUNK
from podium.compliance.tools.bundling.format.refusal import Refused

LONGEST_SIDE_FILE = 1 << 16

_HEX = {"sha256": re.compile(r"[0-9a-fA-F]{64}"), "sha1": re.compile(r"[0-9a-fA-F]{40}")}


class Hashing:
    """A file writer that computes hashes; a full disk becomes one line for the user."""

    def __init__(self, out: IO[bytes], display_path: str) -> None:
        self._out, self._shown = out, display_path
        self.size = 0
        self._sha256 = hashlib.sha256()
        # The old script wrote SHA-1, which some builds of Python refuse for security purposes
        self._sha1 = hashlib.sha1(usedforsecurity=False)

    def write(self, data: bytes, /) -> int:
        """Write all of the bytes."""
        try:
            self._out.write(data)
        except OSError as error:
            raise UsageFault(f"{self._shown} cannot be written: {error.strerror}") from None
        self._sha256.update(data)
        self._sha1.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: this writer has no buffer."""

    @property
    def sha256(self) -> str:
        """The SHA-256 of all bytes so far, in lower case."""
        return self._sha256.hexdigest()

    @property
    def sha1(self) -> str:
        """The SHA-1 of all bytes so far, in lower case."""
        return self._sha1.hexdigest()


def side_line(digest: str, name: str) -> bytes:
    """The line of a side file; names are escaped as in coreutils."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    line = f"{chr(92) if escaped != name else ''}{digest}  {escaped}\n"
    return line.encode("utf-8", "surrogateescape")


def side_files(archive: Path, *, old_script: bool = False) -> dict[str, Path]:
    """The side files of an archive; the old script names its SHA-1 file without `.tar.gz`."""
    # The old script writes mlperf_submission_ORG.tar.gz and mlperf_submission_ORG.sha1
    stem = archive.name.removesuffix(".tar.gz") if old_script else archive.name
    return {
        "sha256": archive.with_name(f"{archive.name}.sha256"),
        "sha1": archive.with_name(f"{stem}.sha1"),
    }


def stated_hashes(archive: Path) -> list[tuple[str, str, str]]:
    """(algorithm, digest, name of the side file) for every side file of an archive.

    Raises Refused for a side file without a hash.
    """
    sides = possible_side_files(archive)
    return [(kind, _read_side(path, kind), path.name) for kind, path in sides if path.is_file()]


def possible_side_files(archive: Path) -> list[tuple[str, Path]]:
    """(algorithm, path) of every possible side file of an archive, in either naming scheme."""
    schemes = (side_files(archive, old_script=old).items() for old in (False, True))
    return sorted({side for sides in schemes for side in sides})


def archive_files(archive: Path) -> list[Path]:
    """An archive, and all its possible side files."""
    return [archive, *dict.fromkeys(path for _, path in possible_side_files(archive))]


def _read_side(path: Path, kind: str) -> str:
    try:
        with path.open("rb") as stream:
            text = stream.read(LONGEST_SIDE_FILE).decode("utf-8", "replace")
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    match = _HEX[kind].match(text.removeprefix("\\"))
    if match is None:
        raise Refused(f"{path.name} has no {kind} hash")
    return match[0].lower()


def check_hashes(
    stream: IO[bytes], expected_hashes: list[tuple[str, str, str]], display_path: str
) -> None:
    """Compare an open archive with the stated hashes, and seek back to the current position.

    Raises Refused if a hash differs.
    """
    if not expected_hashes:
        return
    start = stream.tell()
    sums = {kind: hashlib.new(kind, usedforsecurity=False) for kind, *_ in expected_hashes}
    while data := stream.read(CHUNK):
        for hasher in sums.values():
            hasher.update(data)
    stream.seek(start)
    for kind, digest, source in expected_hashes:
        actual = sums[kind].hexdigest()
        if actual != digest.lower():
            expected = f"{digest.lower()} from {source}"
            raise Refused(f"{display_path}: the {kind} hash is {actual}; expected {expected}")


def checked_hash(digest: str) -> str:
    """A SHA-256 hash in lower case; raises UsageFault for an invalid one."""
    if not _HEX["sha256"].fullmatch(digest.strip()):
        raise UsageFault("--sha256 must be 64 hexadecimal digits")
    return digest.strip().lower()
