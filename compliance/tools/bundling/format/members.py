"""Read a tar stream strictly, member by member: anything irregular is refused.

The standard reader treats a damaged header as the end of an archive, and reads a name of any length
into memory. An untrusted archive must not benefit from either.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

from podium.compliance.text.terminal import clean
from podium.compliance.tools.bundling.format.archive import CHUNK
from podium.compliance.tools.bundling.format.compress import Source
from podium.compliance.tools.bundling.format.paths import LONGEST_NAME, MemberKind
from podium.compliance.tools.bundling.format.refusal import Damaged, Refused

BLOCK = tarfile.BLOCKSIZE

LONGEST_EXTENSION = 1 << 16
"""The largest extension record in bytes, which gives a member a longer name."""

MOST_EXTENSIONS = 4
"""The most extension records of one member: name and link target, each in both dialects."""

_KINDS = {
    tarfile.REGTYPE: MemberKind.FILE,
    tarfile.AREGTYPE: MemberKind.FILE,
    tarfile.DIRTYPE: MemberKind.FOLDER,
    tarfile.SYMTYPE: MemberKind.LINK,
    tarfile.LNKTYPE: MemberKind.HARD_LINK,
}
_REFUSED = {
    tarfile.CHRTYPE: "a character device",
    tarfile.BLKTYPE: "a block device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.CONTTYPE: "a contiguous file",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}
_NAMES = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}

_USED = ("path", "linkpath", "size")
"""The fields of an extended header that are used; times and owners are not."""


@dataclass(frozen=True, slots=True)
class Member:
    """The header of one member; `target` is the target of a link."""

    name: str
    kind: MemberKind
    size: int
    executable: bool
    target: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an archive: unpacked bytes, members, and unpacked bytes per byte of archive."""

    size: int = 64 << 30
    members: int = 200_000
    ratio: float = 250.0


RATIO_FROM = 64 << 20
"""Unpacked bytes from which the ratio counts: a small archive of zeros is harmless."""


class Meter:
    """A source that enforces the limits."""

    def __init__(self, source: Source, limits: Limits, packed: int) -> None:
        """Meter a source that reads from an archive of `packed` bytes."""
        # At least 1: the size of the archive is a divisor
        self._source, self._packed, self._limits = source, max(packed, 1), limits
        self.read_so_far = self.copied = 0
        self.where = "the first member"

    def read(self, size: int) -> bytes:
        """The next bytes; raises Refused with the member for a bomb or damaged data."""
        try:
            data = self._source.read(size)
        except Damaged as fault:
            raise Refused(f"{self.where}: {fault}") from None
        self.read_so_far += len(data)
        # No header announces extension records or the data after the end mark
        self.announce(0)
        self._weigh()
        return data

    def copy(self, size: int) -> None:
        """Count bytes that a member occupies only on disk: those of a hard link."""
        self.announce(size)
        self.copied += size
        self._weigh()

    def _weigh(self) -> None:
        unpacked, most = self.read_so_far + self.copied, self._limits.ratio
        if unpacked > RATIO_FROM and unpacked / self._packed > most:
            raise Refused(f"{self.where}: the archive unpacks to more than {most:g} times its size")

    def announce(self, size: int) -> None:
        """Refuse a member that cannot fit before a byte of it is written."""
        if self.read_so_far + self.copied + size > self._limits.size:
            most = self._limits.size
            raise Refused(f"{self.where}: the unpacked archive is larger than {most} bytes")

    def exactly(self, size: int) -> bytes:
        """Read exactly `size` bytes; raises Refused if the archive ends earlier."""
        pieces = []
        while size:
            data = self.read(size)
            if not data:
                raise Refused(f"{self.where}: the archive is truncated")
            pieces.append(data)
            size -= len(data)
        return b"".join(pieces)


class Members:
    """The members of a tar stream, in order; the content of each is read before the next."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._left = self._pad = 0

    def __iter__(self) -> Iterator[Member]:
        overrides: dict[str, str] = {}
        records = 0
        while (info := self._header()) is not None:
            if info.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, *_NAMES):
                records += 1
                if records > MOST_EXTENSIONS:
                    raise Refused(f"{self._meter.where}: too many records before one member")
                overrides |= self._extension(info)
                continue
            yield self._member(info, overrides)
            # If the caller skips the content, the next header comes only after it
            for _ in self.content():
                pass
            overrides, records = {}, 0
        if overrides:
            raise Refused(f"{self._meter.where}: the archive ends before the member it announces")
        self._end()

    def content(self) -> Iterator[bytes]:
        """The unread content of the current member, in pieces."""
        while self._left:
            data = self._meter.read(min(CHUNK, self._left))
            if not data:
                raise Refused(f"{self._meter.where}: the archive is truncated")
            self._left -= len(data)
            yield data
        self._meter.exactly(self._pad)
        self._pad = 0

    def _header(self) -> tarfile.TarInfo | None:
        block = self._meter.exactly(BLOCK)
        if not any(block):
            return None
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except (tarfile.HeaderError, ValueError):
            position = self._meter.where
            raise Refused(f"{position}: the next header is damaged, or not a tar header") from None

    def _end(self) -> None:
        """Read the end mark: two blocks of zeros, after which only zeros may follow."""
        self._meter.where = "after the last member"
        if any(self._meter.exactly(BLOCK)):
            raise Refused("after the last member: the end mark is damaged")
        # Tar fills its last record with zeros. Decompressors check the checksum only at the end
        while data := self._meter.read(CHUNK):
            if any(data):
                raise Refused("after the last member: data follows the end of the archive")

    # --- one member ---

    def _member(self, info: tarfile.TarInfo, overrides: dict[str, str]) -> Member:
        name = overrides.get("path", info.name)
        self._meter.where = display_path = clean(name[:200]) or "a member without a name"
        kind = _KINDS.get(info.type)
        if kind is None:
            description = _REFUSED.get(info.type, f"of the unknown type {info.type!r}")
            raise Refused(
                f"{display_path}: is {description}; only files, folders and links are unpacked"
            )
        if kind is MemberKind.FOLDER:
            # In tar, folders end with a slash. A name of slashes only is refused later as absolute
            name = name.rstrip("/") if name.strip("/") else name
        size = _number(overrides["size"], display_path) if "size" in overrides else info.size
        if size < 0:
            raise Refused(f"{display_path}: the size is negative")
        # Readers disagree whether such content exists, and so where the next header starts
        if size and kind is not MemberKind.FILE:
            raise Refused(f"{display_path}: is a {kind} with content")
        self._meter.announce(size)
        self._left, self._pad = size, -size % BLOCK
        target = overrides.get("linkpath", info.linkname)
        if len(target.encode("utf-8", "surrogateescape")) > LONGEST_NAME:
            raise Refused(f"{display_path}: the link target is longer than {LONGEST_NAME} bytes")
        # Only the owner's executable bit of the mode counts: a setuid bit is never unpacked
        return Member(name, kind, size, bool(info.mode & 0o100), target)

    def _extension(self, info: tarfile.TarInfo) -> dict[str, str]:
        position = self._meter.where
        if not 0 <= info.size <= LONGEST_EXTENSION:
            raise Refused(f"after {position}: an extension record of {info.size} bytes")
        data = self._meter.exactly(info.size + -info.size % BLOCK)[: info.size]
        if info.type in _NAMES:
            text = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
            return {_NAMES[info.type]: text}
        extension = _pax(data, f"after {position}")
        # In this dialect, a sparse file has the type of a plain file, and only its keys differ
        if sparse := [key for key in extension if key.startswith("GNU.sparse")]:
            raise Refused(f"after {position}: a sparse file ({clean(sparse[0])})")
        records = {key: text for key, text in extension.items() if key in _USED}
        # `git archive` writes a global header with a comment, which is harmless
        if records and info.type == tarfile.XGLTYPE:
            raise Refused(f"after {position}: a record that sets {min(records)} for all members")
        return records


def _number(text: str, display_path: str) -> int:
    # isdigit accepts superscripts too, for which int fails; 20 digits exceed 64 bits
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Refused(f"{display_path}: the size is not a number")
    return int(text)


def _pax(data: bytes, position: str) -> dict[str, str]:
    """The records `length key=value` of an extended header; raises Refused for invalid ones."""
    records: dict[str, str] = {}
    while data:
        digits, space, _ = data.partition(b" ")
        # LONGEST_EXTENSION has 5 digits. A length of 0 gives an empty record, refused below
        length = int(digits) if digits.isdigit() and len(digits) < 7 else 0
        record = data[:length]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not (space and equals and key) or len(record) != length or record[-1:] != b"\n":
            raise Refused(f"{position}: an invalid extended header")
        # Python raises ValueError, not OSError, for a path with a null byte
        if b"\0" in value and key in (b"path", b"linkpath"):
            raise Refused(f"{position}: a name with a null byte")
        records[key.decode("utf-8", "replace")] = value.decode("utf-8", "surrogateescape")
        data = data[length:]
    return records
