"""`podium bundle`: write a tree as one archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import clear_leftovers, suggest_unpack, warn
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import NoSyncOption, QuietOption
from podium.compliance.cli.packaging.secrets import PassphraseOption, read_passphrase
from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.tools.bundling.bundle import Bundled
    from podium.compliance.tools.bundling.encryption.keys import Cipher

EXAMPLES = examples(
    "podium bundle Acme Acme.tar.zst",
    "podium bundle Acme Acme.tar.zst.age --recipient age1...",
    "podium bundle Acme Acme.tar.gz.enc --passphrase-file pass.txt",
)

TreeArgument = Annotated[Path, typer.Argument(help="The submitter's folder.", metavar="TREE")]
ArchiveArgument = Annotated[
    Path,
    typer.Argument(
        help="Bundle to write: *.tar.zst, *.tar.gz or *.tar; with .age or .enc, encrypted.",
        metavar="ARCHIVE",
    ),
]
RecipientOption = Annotated[
    list[str] | None,
    typer.Option(help="age or SSH public key (repeatable).", metavar="KEY"),
]
CipherOption = Annotated[
    str | None,
    typer.Option(help="age, openssl, or legacy: the old script's format.", metavar="CIPHER"),
]
IterationsOption = Annotated[
    int | None, typer.Option(help="PBKDF2 iterations; default 600000.", min=1, metavar="N")
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Overwrite an existing bundle.")]


def bundle(
    tree: TreeArgument,
    archive: ArchiveArgument,
    recipient: RecipientOption = None,
    passphrase_file: PassphraseOption = None,
    cipher: CipherOption = None,
    iterations: IterationsOption = None,
    replace: ReplaceOption = False,
    no_sync: NoSyncOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a submission as one archive, with its SHA-256 and SHA-1 in separate files.

    The same tree gives the same bytes. Exit status: 0 written, 1 the tree cannot be bundled, 2 bad
    arguments.
    """
    from podium.compliance.reporting.console import print_text
    from podium.compliance.tools.bundling.bundle import BundleOptions
    from podium.compliance.tools.bundling.bundle import bundle as write_bundle
    from podium.compliance.tools.bundling.encryption.openssl import ITERATIONS
    from podium.compliance.tools.bundling.format.hashes import archive_files

    options = BundleOptions(
        _cipher(cipher),
        tuple(recipient or ()),
        read_passphrase(passphrase_file),
        iterations or ITERATIONS,
        replace,
        durable=not no_sync,
    )
    clear_leftovers(*archive_files(archive))
    bundled = write_bundle(tree, archive, options)
    if bundled.warning:
        warn(bundled.warning)
    if not quiet:
        print_text(_text(bundled))
        receipt = Path("podium-receipt.json")
        suggest_unpack(archive, receipt if receipt.is_file() else None)


def _cipher(name: str | None) -> Cipher | None:
    from podium.compliance.tools.bundling.encryption.keys import Cipher

    # Before Python 3.12 `in Cipher` raises TypeError for a string that is not a member
    if name is not None and name not in list(Cipher):
        raise UsageFault(f"--cipher: expected {', '.join(Cipher)}, got {name}")
    return Cipher(name) if name else None


def _text(bundled: Bundled) -> str:
    """The written files, and the command that opens the archive without podium."""
    from podium.compliance.text.terminal import clean

    lines = [
        f"{clean(str(bundled.archive))}: {bundled.files} files, {bundled.size} bytes",
        f"  sha256 {bundled.sha256}",
        *(f"  {clean(str(path))}" for path in bundled.side_files),
        f"  without podium: {clean(bundled.unpack_command)}",
    ]
    return "\n".join(lines) + "\n"
