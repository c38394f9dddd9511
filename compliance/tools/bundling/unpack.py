"""Unpack an untrusted archive, completely or not at all."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from podium.compliance.errors import ComplianceError, NothingToJudge, UsageFault
from podium.compliance.files.atomic import draft_folder, refuse_occupied
from podium.compliance.files.durable import write_new
from podium.compliance.files.guard import guarded
from podium.compliance.text.terminal import clean
from podium.compliance.tools.bundling.encryption.decrypt import decrypted
from podium.compliance.tools.bundling.encryption.keys import Keys
from podium.compliance.tools.bundling.format.compress import Source, expanding
from podium.compliance.tools.bundling.format.hashes import check_hashes, checked_hash, stated_hashes
from podium.compliance.tools.bundling.format.members import Limits, Member, Members, Meter
from podium.compliance.tools.bundling.format.paths import (
    MemberKind,
    TakenPaths,
    parts_of,
    refuse_on_windows,
)
from podium.compliance.tools.bundling.format.refusal import Refused
from podium.compliance.tools.bundling.format.tree import stays_below

if TYPE_CHECKING:
    from podium.compliance.tools.packing.receipt import Receipt


ON_WINDOWS = os.name == "nt"

MOST_LINK_BYTES = 64 << 20
"""The most characters in the names and targets of all links, which are kept until the end."""

_NAMES = (
    *(errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOENT, errno.EEXIST),
    *(errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
)
"""Errors of a file system for unsupported names; any other error is not caused by the archive."""


@dataclass(frozen=True, slots=True)
class UnpackOptions:
    """Requirements and limits of an archive; `receipt` is checked before the folder appears.

    With `durable`, the folder is flushed to disk before it is reported as unpacked.
    """

    sha256: str | None = None
    keys: Keys = field(default_factory=Keys)
    limits: Limits = field(default_factory=Limits)
    receipt: Receipt | None = None
    durable: bool = True


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The outcome: the encryption, the counts, and the checks that were made.

    `unauthenticated` means that the encryption does not detect changes, and that the caller passed
    neither a hash nor a receipt. The hash files next to an archive come from the same source.
    """

    encryption: str
    files: int
    size: int
    checked: tuple[str, ...] = ()
    old_derivation: bool = False
    unauthenticated: bool = False


def unpack(archive: Path, output: Path, options: UnpackOptions | None = None) -> Unpacked:
    """Unpack an archive into a new or empty folder, completely or not at all.

    Raises Refused for an archive that is hostile, damaged, encrypted with another key, or does not
    match its hash or the receipt; UsageFault for an error of the caller.
    """
    options = options or UnpackOptions()
    refuse_occupied(output)
    # One open file for hashes and content, so that the archive cannot be replaced in between
    draft_context = draft_folder(output, durable=options.durable)
    with _archive(archive) as stream, draft_context as draft, ExitStack() as stack:
        hashes = stated_hashes(archive)
        if options.sha256 is not None:
            hashes.append(("sha256", checked_hash(options.sha256), "--sha256"))
        display_path = clean(archive.name)
        check_hashes(stream, hashes, display_path)
        with decrypted(stream, display_path, options.keys, output.absolute().parent) as archived:
            if archived.encrypted:
                # A kill must not leave the decrypted files behind
                stack.enter_context(guarded(draft.parent))
            source = expanding(archived.compression, archived.source)
            unpacking = _Unpacking(draft, options.limits, output)
            # The ratio is relative to the size on disk, which a header cannot falsify
            unpacking.all(source, os.fstat(stream.fileno()).st_size)
        if options.receipt is not None:
            # Imported only if needed, because the library that reads receipts loads slowly
            from podium.compliance.tools.bundling.verify import check_against

            check_against(options.receipt, draft)
        return Unpacked(
            archived.how,
            unpacking.files,
            unpacking.size,
            _checks(hashes, options),
            archived.old,
            not archived.authenticated and options.sha256 is None and options.receipt is None,
        )


def _checks(expected: list[tuple[str, str, str]], options: UnpackOptions) -> tuple[str, ...]:
    hashes = [f"{kind} matches {source}" for kind, _, source in expected]
    receipt = options.receipt
    if receipt is not None:
        hashes.append(f"{len(receipt.files)} files match the receipt")
    return tuple(hashes)


@contextmanager
def _archive(path: Path) -> Iterator[IO[bytes]]:
    """The open archive; never blocks on a pipe or a device."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise NothingToJudge(f"{path} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NothingToJudge(f"{path} is not a regular file")
    with io.BufferedReader(_ArchiveFile(handle, path)) as stream:
        yield cast("IO[bytes]", stream)


class _ArchiveFile(io.FileIO):
    """The bytes of the archive; distinguishes read errors from write errors."""

    def __init__(self, handle: int, path: Path) -> None:
        super().__init__(handle, "rb")
        self._path = path

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer, up to the end of the archive."""
        try:
            return os.readv(self.fileno(), [buffer])
        except OSError as error:
            raise NothingToJudge(f"{self._path} cannot be read: {error.strerror}") from None


class _Unpacking:
    """Writes members below a draft folder; links last, so that no write goes through a link."""

    def __init__(self, draft: Path, limits: Limits, output: Path) -> None:
        self._root, self._output = str(draft.resolve()), output
        self._limits = limits
        self._taken = TakenPaths()
        # By number, because names would use memory in proportion to their length
        self._files: dict[int, bool] = {}
        self._links: list[tuple[str, Member]] = []
        self._link_bytes = 0
        self.files = self.size = 0

    def all(self, source: Source, packed: int) -> None:
        """Unpack every member of an archive of `packed` bytes."""
        meter = Meter(source, self._limits, packed)
        members = Members(meter)
        for member in members:
            try:
                self._one(member, members, meter)
            except OSError as error:
                raise self._fault(member, error) from None
        for path, member in self._links:
            self._link(path, member)
        # A chain of links can be resolved only after all links exist
        for path, member in self._links:
            self._check_link(path, member)

    def _fault(self, member: Member, error: OSError) -> ComplianceError:
        """The error for a member that cannot be written: caused by the archive or by the disk."""
        name, reason = clean(member.name[:200]), error.strerror or str(error)
        if error.errno in _NAMES:
            return Refused(f"{name}: cannot be written: {reason}")
        return UsageFault(f"{self._output} cannot be made: {name}: {reason}")

    def _one(self, member: Member, members: Members, meter: Meter) -> None:
        display_path = clean(member.name[:200])
        parts = parts_of(member.name, display_path)
        if not parts:
            if member.kind is not MemberKind.FOLDER:
                raise Refused(f"{display_path}: the root is a {member.kind}")
            return
        if ON_WINDOWS:
            refuse_on_windows(parts, display_path)
        kind = MemberKind.FILE if member.kind is MemberKind.HARD_LINK else member.kind
        number = self._taken.take(parts, kind)
        # Implied folders count too: one name may imply two thousand
        if len(self._taken) > self._limits.members:
            raise Refused(
                f"{display_path}: the archive has more than {self._limits.members} members"
            )
        path = os.path.join(self._root, *parts)
        os.makedirs(path if kind is MemberKind.FOLDER else os.path.dirname(path), exist_ok=True)
        if member.kind is MemberKind.FILE:
            self._write(path, members.content(), executable=member.executable)
            self._files[number] = member.executable
        elif member.kind is MemberKind.HARD_LINK:
            self._copy(path, number, member, meter)
        elif member.kind is MemberKind.LINK:
            self._keep(path, member)

    def _keep(self, path: str, member: Member) -> None:
        """Keep a link for the end; raises Refused if the links need too much memory."""
        self._link_bytes += len(path) + len(member.name) + len(member.target)
        if self._link_bytes > MOST_LINK_BYTES:
            raise Refused(
                f"{clean(member.name[:200])}: the names and targets of links exceed "
                f"{MOST_LINK_BYTES >> 20} MiB"
            )
        self._links.append((path, member))

    def _write(self, path: str, content: Iterator[bytes], *, executable: bool) -> None:
        # A second defense after the checks of names: never opens an existing file
        self.size += write_new(path, content, executable=executable)
        self.files += 1

    def _copy(self, path: str, file_number: int, member: Member, meter: Meter) -> None:
        """Write a hard link as a copy of its target, which must be an earlier member."""
        display_path = clean(member.name[:200])
        original_parts = parts_of(member.target, display_path)
        # Looked up among the unpacked files, because on disk a link could be in the way
        number = self._taken.number_of(original_parts)
        if number not in self._files:
            raise Refused(
                f"{display_path}: is a hard link to {clean(member.target[:200])}, which is not an "
                "earlier file"
            )
        original = os.path.join(self._root, *original_parts)
        # A copy reads no bytes of the archive, so the meter must be informed
        meter.copy(os.path.getsize(original))
        executable = self._files[number]
        with open(original, "rb") as stream:
            self._write(path, iter(lambda: stream.read(1 << 20), b""), executable=executable)
        self._files[file_number] = executable

    def _link(self, path: str, member: Member) -> None:
        try:
            os.symlink(member.target, path)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno not in _NAMES:
                raise self._fault(member, error) from None
            display_path = clean(member.name[:200])
            raise Refused(f"{display_path}: the link cannot be created") from None
        self.files += 1

    def _check_link(self, path: str, member: Member) -> None:
        if not stays_below(path, member.target, self._root):
            display_path, target = clean(member.name[:200]), clean(member.target[:200])
            raise Refused(f"{display_path}: the link points outside the folder, to {target}")
