"""`podium bundle` and `podium unpack`: a tree as one archive, and the way back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.commands.options import QuietOption
from podium.compliance.errors import UsageFault
from podium.compliance.exit_codes import Exit

if TYPE_CHECKING:
    from podium.compliance.bundling.bundle import Bundled, BundleOptions
    from podium.compliance.bundling.format.members import Limits
    from podium.compliance.bundling.unpack import UnpackOptions

LARGEST_KEY = 1 << 16
"""Bytes of a file with a key or a passphrase."""

EPILOG_BUNDLE = (
    "Examples:  podium bundle Acme Acme.tar.zst    "
    "podium bundle Acme Acme.tar.zst.age --recipient age1…    "
    "podium bundle Acme Acme.tar.gz.enc --passphrase-file pass.txt"
)
EPILOG_UNPACK = (
    "Examples:  podium unpack Acme.tar.zst --output review    "
    "podium unpack Acme.tar.zst.age --output review --identity key.txt "
    "--verify podium-receipt.json    "
    "podium unpack Acme --verify podium-receipt.json"
)

PassphraseOption = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="File whose first line is the passphrase."),
]


def bundle(
    tree: Annotated[Path, typer.Argument(help="The submitter's folder.", metavar="TREE")],
    archive: Annotated[
        Path,
        typer.Argument(help="*.tar.zst, *.tar.gz or *.tar; then .age or .enc.", metavar="ARCHIVE"),
    ],
    recipient: Annotated[
        list[str] | None, typer.Option(help="age or SSH public key (repeatable).")
    ] = None,
    passphrase_file: PassphraseOption = None,
    cipher: Annotated[
        str | None, typer.Option(help="age, openssl, or legacy: the old script's format.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="PBKDF2's iterations; default 600000.", min=1)
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an older bundle.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Make one archive of a submission, with its SHA-256 and SHA-1 beside it.

    The same tree gives the same bytes. Exit status: 0 written, 1 the tree cannot be bundled, 2 bad
    arguments.
    """
    from podium.compliance.bundling.bundle import bundle as write_bundle
    from podium.compliance.bundling.format.refusal import Refused
    from podium.compliance.report.console import print_text

    options = _bundle_options(recipient, passphrase_file, cipher, iterations, replace=replace)
    try:
        done = write_bundle(tree, archive, options)
    except Refused as error:
        typer.echo(f"podium: {error}", err=True)
        raise typer.Exit(Exit.FOUND) from None
    if done.warning:
        typer.echo(f"podium: {done.warning}", err=True)
    if not quiet:
        print_text(told_of(done))


def told_of(done: Bundled) -> str:
    """A bundle in words: what was written and how to open it without podium."""
    from podium.compliance.report.terminal import clean

    lines = [
        f"{clean(str(done.archive))}: {done.files} files, {done.size} bytes",
        f"  sha256 {done.sha256}",
        *(f"  {clean(str(path))}" for path in done.side_files),
        f"  without podium: {clean(done.opened_by)}",
    ]
    return "\n".join(lines) + "\n"


def _bundle_options(
    recipients: list[str] | None,
    passphrase_file: Path | None,
    cipher: str | None,
    iterations: int | None,
    *,
    replace: bool,
) -> BundleOptions:
    from podium.compliance.bundling.bundle import BundleOptions
    from podium.compliance.bundling.encryption.keys import Cipher
    from podium.compliance.bundling.encryption.openssl import ITERATIONS

    if cipher is not None and cipher not in list(Cipher):
        raise UsageFault(f"--cipher is {cipher}; must be {', '.join(Cipher)}")
    return BundleOptions(
        Cipher(cipher) if cipher else None,
        tuple(recipients or ()),
        _passphrase(passphrase_file) if passphrase_file else None,
        iterations or ITERATIONS,
        replace,
    )


def unpack(
    archive: Annotated[
        Path,
        typer.Argument(help="A bundle; with --verify also a folder.", metavar="ARCHIVE"),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="New or empty folder to unpack into.")
    ] = None,
    verify: Annotated[
        Path | None, typer.Option("--verify", help="Receipt of `podium pack` to check against.")
    ] = None,
    sha256: Annotated[str | None, typer.Option(help="The hash that the bundle must have.")] = None,
    passphrase_file: PassphraseOption = None,
    identity: Annotated[
        list[Path] | None, typer.Option(help="File with an age or SSH secret key (repeatable).")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="PBKDF2's iterations, if unusual.", min=1)
    ] = None,
    max_size: Annotated[
        int | None, typer.Option(help="Most bytes unpacked; default 64 GiB.", min=1)
    ] = None,
    max_members: Annotated[
        int | None, typer.Option(help="Most files and folders; default 200000.", min=1)
    ] = None,
    max_ratio: Annotated[
        float | None, typer.Option(help="Most bytes unpacked per byte read; default 250.", min=1)
    ] = None,
    quiet: QuietOption = False,
) -> None:
    """Unpack a bundle into a new folder, whole or not at all, and check it against its receipt.

    The hash files beside the bundle are heeded. Exit status: 0 unpacked, 1 the bundle is hostile,
    damaged, or not what its hash or receipt says, 2 bad arguments.
    """
    from podium.compliance.bundling.format.refusal import Refused

    try:
        if output is None:
            text = _verify_only(archive, verify)
        else:
            from podium.compliance.bundling.encryption.keys import Keys
            from podium.compliance.bundling.encryption.openssl import MOST_ITERATIONS
            from podium.compliance.bundling.unpack import UnpackOptions

            if iterations and iterations > MOST_ITERATIONS:
                raise UsageFault(f"--iterations must be from 1 to {MOST_ITERATIONS}")
            secret = _passphrase(passphrase_file) if passphrase_file else None
            identities = tuple(_read(path) for path in identity or ())
            keys = Keys(secret, identities, iterations, None if secret else _asker())
            limits = _limits(max_size, max_members, max_ratio)
            text = _unpacked(archive, output, UnpackOptions(sha256, keys, limits), verify)
    except Refused as error:
        typer.echo(f"podium: {error}", err=True)
        raise typer.Exit(Exit.FOUND) from None
    if not quiet:
        from podium.compliance.report.console import print_text

        print_text(text)


def _verify_only(tree: Path, verify: Path | None) -> str:
    """Check a tree that is unpacked already."""
    from podium.compliance.bundling.verify import check_against
    from podium.compliance.packing.receipt import read_receipt
    from podium.compliance.report.terminal import clean

    if not tree.is_dir():
        raise UsageFault("give --output, the new folder to unpack into")
    if verify is None:
        raise UsageFault(f"{tree} is a folder: give --verify with the receipt to check it against")
    receipt = read_receipt(verify)
    check_against(receipt, tree)
    return f"{clean(str(tree))}: {len(receipt.files)} files, all as in the receipt\n"


def _unpacked(archive: Path, output: Path, options: UnpackOptions, verify: Path | None) -> str:
    from dataclasses import replace

    from podium.compliance.bundling.unpack import unpack as unpack_whole
    from podium.compliance.report.terminal import clean

    if verify is not None:
        from podium.compliance.packing.receipt import read_receipt

        options = replace(options, receipt=read_receipt(verify))
    done = unpack_whole(archive, output, options)
    if done.old_derivation:
        said = "the bundle's key was derived in the old, weak way; ask for one closed by age"
        typer.echo(f"podium: {said}", err=True)
    lines = [
        f"{clean(str(output))}: {done.files} files, {done.size} bytes ({done.sealed})",
        *(f"  {line}" for line in done.checked),
    ]
    return "\n".join(lines) + "\n"


def _limits(size: int | None, members: int | None, ratio: float | None) -> Limits:
    from podium.compliance.bundling.format.members import Limits

    default = Limits()
    return Limits(size or default.size, members or default.members, ratio or default.ratio)


def _passphrase(path: Path) -> str:
    """The first line of a file, as `openssl -pass file:` takes it."""
    secret = _read(path).split("\n", 1)[0].removesuffix("\r")
    if not secret:
        raise UsageFault(f"{path} holds no passphrase in its first line")
    return secret


def _read(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST_KEY).decode("utf-8")
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageFault(f"{path} is no UTF-8 text") from None


def _asker() -> Callable[[], str] | None:
    """Ask for the passphrase where somebody sits at the terminal."""
    if not sys.stdin.isatty():
        return None
    return lambda: str(typer.prompt("passphrase", hide_input=True, err=True))
