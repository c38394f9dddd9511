"""An archive unpacked whole or not at all; nothing in it is trusted."""

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
"""Characters of the names and targets of all links, which are kept until the end."""

_NAMES = (
    *(errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ENOENT, errno.EEXIST),
    *(errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
)
"""What a file system says of names that it cannot have; all else is no fault of an archive."""


@dataclass(frozen=True, slots=True)
class UnpackOptions:
    """What an archive must be and may be; `receipt` is checked before anything appears.

    Where it is durable, the folder is on the disk when it is said to be unpacked.
    """

    sha256: str | None = None
    keys: Keys = field(default_factory=Keys)
    limits: Limits = field(default_factory=Limits)
    receipt: Receipt | None = None
    durable: bool = True


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What was unpacked: the encryption, counts, and what it was checked against.

    `unauthenticated` says that it was encrypted in a format that does not notice changes, and that
    neither a hash nor a receipt was given to check it by: the hash files beside it come with it.
    """

    encryption: str
    files: int
    size: int
    checked: tuple[str, ...] = ()
    old_derivation: bool = False
    unauthenticated: bool = False


def unpack(archive: Path, output: Path, options: UnpackOptions | None = None) -> Unpacked:
    """Unpack an archive into a new or empty folder, which appears whole or not at all.

    Raises Refused for an archive that is hostile, damaged, encrypted with another key, or does not
    match its hash or the receipt; UsageFault for what the caller did wrong.
    """
    options = options or UnpackOptions()
    refuse_occupied(output)
    # One open file for hashes and content: nobody can exchange the archive in between
    made = draft_folder(output, durable=options.durable)
    with _archive(archive) as stream, made as draft, ExitStack() as stack:
        stated = stated_hashes(archive)
        if options.sha256 is not None:
            stated.append(("sha256", checked_hash(options.sha256), "--sha256"))
        display_path = clean(archive.name)
        check_hashes(stream, stated, display_path)
        with decrypted(stream, display_path, options.keys, output.absolute().parent) as archived:
            if archived.encrypted:
                # Nobody may find the files of an encrypted archive after a kill
                stack.enter_context(guarded(draft.parent))
            source = expanding(archived.compression, archived.source)
            unpacking = _Unpacking(draft, options.limits, output)
            # The ratio is to the size on disk, about which no header can lie
            unpacking.all(source, os.fstat(stream.fileno()).st_size)
        if options.receipt is not None:
            # A bundle without a receipt need not wait for the library that reads receipts.
            from podium.compliance.tools.bundling.verify import check_against

            check_against(options.receipt, draft)
        return Unpacked(
            archived.how,
            unpacking.files,
            unpacking.size,
            _checks(stated, options),
            archived.old,
            not archived.authenticated and options.sha256 is None and options.receipt is None,
        )


def _checks(stated: list[tuple[str, str, str]], options: UnpackOptions) -> tuple[str, ...]:
    hashes = [f"{kind} as in {source}" for kind, _, source in stated]
    receipt = options.receipt
    if receipt is not None:
        hashes.append(f"{len(receipt.files)} files as in the receipt")
    return tuple(hashes)


@contextmanager
def _archive(path: Path) -> Iterator[IO[bytes]]:
    """The archive, open; a pipe or a device is never waited for."""
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
    """The archive's bytes; that they cannot be read is not taken for what cannot be written."""

    def __init__(self, handle: int, path: Path) -> None:
        super().__init__(handle, "rb")
        self._path = path

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer as far as the archive goes."""
        try:
            return os.readv(self.fileno(), [buffer])
        except OSError as error:
            raise NothingToJudge(f"{self._path} cannot be read: {error.strerror}") from None


class _Unpacking:
    """Members becoming files below a draft folder; links last, so that none is written through."""

    def __init__(self, draft: Path, limits: Limits, output: Path) -> None:
        self._root, self._output = str(draft.resolve()), output
        self._limits = limits
        self._taken = TakenPaths()
        # By the numbers of their places: names would take memory by their length
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
        # Only once all links exist can a chain of them be followed to its end
        for path, member in self._links:
            self._check_link(path, member)

    def _fault(self, member: Member, error: OSError) -> ComplianceError:
        """Whose fault it is that a member cannot be written: the archive's, or the disk's."""
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
        place = self._taken.take(parts, kind)
        # Folders that are only implied count too: one name may imply two thousand
        if len(self._taken) > self._limits.members:
            raise Refused(
                f"{display_path}: the archive has more than {self._limits.members} members"
            )
        path = os.path.join(self._root, *parts)
        os.makedirs(path if kind is MemberKind.FOLDER else os.path.dirname(path), exist_ok=True)
        if member.kind is MemberKind.FILE:
            self._write(path, members.content(), executable=member.executable)
            self._files[place] = member.executable
        elif member.kind is MemberKind.HARD_LINK:
            self._copy(path, place, member, meter)
        elif member.kind is MemberKind.LINK:
            self._keep(path, member)

    def _keep(self, path: str, member: Member) -> None:
        """Note a link for the end; raises Refused where all links take too much memory."""
        self._link_bytes += len(path) + len(member.name) + len(member.target)
        if self._link_bytes > MOST_LINK_BYTES:
            raise Refused(
                f"{clean(member.name[:200])}: the names and targets of links have more than "
                f"{MOST_LINK_BYTES >> 20} MiB"
            )
        self._links.append((path, member))

    def _write(self, path: str, content: Iterator[bytes], *, executable: bool) -> None:
        # A second defence behind the checks of names: nothing that exists is ever opened
        self.size += write_new(path, content, executable=executable)
        self.files += 1

    def _copy(self, path: str, place: int, member: Member, meter: Meter) -> None:
        """A hard link becomes a copy of the file that it names, which must have come before."""
        display_path = clean(member.name[:200])
        original_parts = parts_of(member.target, display_path)
        # Looked up among the files written here, as on disk a link could answer
        number = self._taken.number_of(original_parts)
        if number not in self._files:
            raise Refused(
                f"{display_path}: is a hard link to {clean(member.target[:200])}, no earlier file"
            )
        original = os.path.join(self._root, *original_parts)
        # A copy takes no bytes of the archive, so the meter does not see it by itself
        meter.copy(os.path.getsize(original))
        executable = self._files[number]
        with open(original, "rb") as stream:
            self._write(path, iter(lambda: stream.read(1 << 20), b""), executable=executable)
        self._files[place] = executable

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
            raise Refused(f"{display_path}: the link leads out of the folder, to {target}")
