"""Write a tree as one archive: write under a temporary name, hash, then rename."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from podium.compliance.errors import NothingToJudge, UsageFault
from podium.compliance.files.atomic import draft_files
from podium.compliance.reporting.console import inside
from podium.compliance.tools.bundling.encryption.age import encrypt_age
from podium.compliance.tools.bundling.encryption.keys import Cipher
from podium.compliance.tools.bundling.encryption.openssl import (
    ITERATIONS,
    MOST_ITERATIONS,
    Encrypting,
)
from podium.compliance.tools.bundling.format.archive import Writer, write_archive
from podium.compliance.tools.bundling.format.compress import Compression, compressing
from podium.compliance.tools.bundling.format.hashes import Hashing, side_files, side_line
from podium.compliance.tools.bundling.format.paths import MemberKind
from podium.compliance.tools.bundling.format.tree import TreeEntry, entries_of
from podium.compliance.tools.bundling.skeleton import refuse_skeleton

_ENDINGS = {
    ".tar.zst": Compression.ZSTD,
    ".tzst": Compression.ZSTD,
    ".tar.gz": Compression.GZIP,
    ".tgz": Compression.GZIP,
    ".tar": Compression.PLAIN,
}
_SEND_HASH = "send its SHA-256 over a separate channel, or encrypt with age"
_ENCRYPTED = {".age": Cipher.AGE, ".enc": Cipher.OPENSSL}


@dataclass(frozen=True, slots=True)
class BundleOptions:
    """Options of an archive. Without `cipher`, the keys or the archive's name select the cipher.

    `top` is the folder of the tree in the archive, by default the name of the tree. With
    `durable`, the archive is flushed to disk before it is reported as written.
    """

    cipher: Cipher | None = None
    recipients: tuple[str, ...] = ()
    passphrase: str | None = None
    iterations: int = ITERATIONS
    replace: bool = False
    top: str | None = None
    durable: bool = True


@dataclass(frozen=True, slots=True)
class Bundled:
    """The written files: the archive, its hashes and their files, the command to unpack it."""

    archive: Path
    files: int
    size: int
    sha256: str
    sha1: str
    side_files: tuple[Path, ...]
    unpack_command: str
    warning: str = ""


def bundle(tree: Path, archive: Path, options: BundleOptions | None = None) -> Bundled:
    """Write a tree as one archive with its two hash files; returns the written files.

    The name of the archive determines its format: `.tar.zst`, `.tar.gz` or `.tar`, then `.age` or
    `.enc`. A plain archive depends only on the tree: the same tree gives the same bytes.
    Raises UsageFault for invalid arguments, Refused for a tree that cannot be bundled.
    """
    options = options or BundleOptions()
    compression, cipher = _kind(archive, options)
    _check(tree, archive, options, cipher)
    top = options.top or tree.resolve().name
    entries = entries_of(tree, top)
    sides = side_files(archive, old_script=cipher is Cipher.LEGACY)
    # The archive comes last, so that it never appears without its hashes. After a kill in between,
    # the old archive has the new hashes, so that unpacking refuses it
    paths = [sides["sha256"], sides["sha1"], archive]
    with draft_files(paths, durable=options.durable) as (sha256, sha1, stream):
        out = Hashing(stream, str(archive))
        if cipher is None:
            _compress(entries, out, compression)
        else:
            _encrypt(entries, out, (compression, cipher, options), archive.absolute().parent)
        sha256.write(side_line(out.sha256, archive.name))
        sha1.write(side_line(out.sha1, archive.name))
    files = sum(entry.kind is not MemberKind.FOLDER for entry in entries)
    unpack_command, warning = _elsewhere(archive, compression, cipher, options)
    return Bundled(
        archive,
        files,
        out.size,
        out.sha256,
        out.sha1,
        tuple(sides.values()),
        unpack_command,
        warning,
    )


def _kind(archive: Path, options: BundleOptions) -> tuple[Compression, Cipher | None]:
    name, by_name = archive.name, None
    for ending, cipher in _ENCRYPTED.items():
        if name.endswith(ending):
            name, by_name = name.removesuffix(ending), cipher
    compression = next((kind for end, kind in _ENDINGS.items() if name.endswith(end)), None)
    if compression is None:
        endings = " or ".join(_ENDINGS)
        raise UsageFault(f"the bundle is named {archive.name}; expected the ending {endings}")
    # age is the default, because only age detects a changed byte
    keyed = Cipher.AGE if options.recipients or options.passphrase is not None else None
    return compression, options.cipher or by_name or keyed


def _check(tree: Path, archive: Path, options: BundleOptions, cipher: Cipher | None) -> None:
    if not tree.is_dir():
        raise NothingToJudge(f"no such folder: {tree}")
    refuse_skeleton(tree)
    if inside(archive, [tree]):
        raise UsageFault(f"the bundle {archive} is in the tree itself; choose a path outside")
    if archive.exists() and not options.replace:
        raise UsageFault(f"{archive} already exists; use --replace to overwrite it")
    if archive.is_dir():
        raise UsageFault(f"{archive} is a folder")
    if options.recipients and cipher is not Cipher.AGE:
        raise UsageFault(f"--recipient requires the cipher age, got {cipher}")
    if options.recipients and options.passphrase is not None:
        raise UsageFault("--recipient cannot be combined with a passphrase")
    # An empty passphrase, for example from an empty file, counts as none
    if cipher and not options.recipients and not options.passphrase:
        needs = "--recipient or a passphrase" if cipher is Cipher.AGE else "a passphrase"
        raise UsageFault(f"encryption with {cipher} needs {needs}")
    if not 1 <= options.iterations <= MOST_ITERATIONS:
        raise UsageFault(f"--iterations must be from 1 to {MOST_ITERATIONS}")


def _encrypt(
    entries: list[TreeEntry],
    out: Hashing,
    settings: tuple[Compression, Cipher, BundleOptions],
    room: Path,
) -> None:
    compression, cipher, options = settings
    secret = options.passphrase or ""
    if cipher is Cipher.AGE:
        # The library reads from a file: the plain archive is in a file without a name
        with tempfile.TemporaryFile(dir=room) as plain:
            _compress(entries, plain, compression)
            plain.seek(0)
            encrypt_age(plain, out, options.recipients, secret)
    else:
        iterations = options.iterations if cipher is Cipher.OPENSSL else None
        encrypting = Encrypting(out, secret, iterations)
        _compress(entries, encrypting, compression)
        encrypting.finish()


def _compress(entries: list[TreeEntry], out: Writer, compression: Compression) -> None:
    # The compressors only write and flush, which every writer here supports
    compressed = compressing(compression, cast("IO[bytes]", out))
    write_archive(entries, compressed)
    compressed.close()


def _elsewhere(
    archive: Path, compression: Compression, cipher: Cipher | None, options: BundleOptions
) -> tuple[str, str]:
    """The command that unpacks the archive without podium, and a warning or an empty string."""
    flag = {Compression.GZIP: "-xz", Compression.ZSTD: "--zstd -x", Compression.PLAIN: "-x"}[
        compression
    ]
    name = shlex.quote(archive.name)
    if cipher is None:
        return f"tar {flag}f {name}", ""
    if cipher is Cipher.AGE:
        key = " -i KEY" if options.recipients else ""
        return f"age -d{key} {name} | tar {flag}", ""
    if cipher is Cipher.OPENSSL:
        derived = f"-pbkdf2 -iter {options.iterations}"
        open_it = f"openssl enc -d -aes-256-cbc {derived} -in {name} | tar {flag}"
        return open_it, f"the openssl format is not authenticated: {_SEND_HASH}"
    old = "the format of the old script derives its key in one round and is not authenticated"
    return f"openssl enc -d -aes256 -in {name} | tar {flag}", f"{old}: {_SEND_HASH}"
