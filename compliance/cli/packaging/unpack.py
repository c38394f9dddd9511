"""`podium unpack`: unpack and verify a bundle."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from podium.compliance.cli.delivery import clear_leftovers, suggest, warn
from podium.compliance.cli.help import examples
from podium.compliance.cli.options import NoSyncOption, QuietOption
from podium.compliance.cli.packaging.secrets import (
    PassphraseOption,
    read_key,
    read_passphrase,
)
from podium.compliance.errors import UsageFault

if TYPE_CHECKING:
    from podium.compliance.tools.bundling.encryption.keys import Keys
    from podium.compliance.tools.bundling.format.members import Limits
    from podium.compliance.tools.bundling.unpack import Unpacked
    from podium.compliance.tools.packing.receipt import Receipt

EXAMPLES = examples(
    "podium unpack Acme.tar.zst --output review",
    "podium unpack Acme.tar.zst.age --output review --identity key.txt",
    "podium unpack Acme.tar.zst --output review --verify podium-receipt.json",
    "podium unpack Acme --verify podium-receipt.json",
)

ArchiveArgument = Annotated[
    Path, typer.Argument(help="Bundle to unpack; with --verify also a folder.", metavar="ARCHIVE")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="New or empty folder to unpack into.", metavar="DIR"),
]
VerifyOption = Annotated[
    Path | None,
    typer.Option("--verify", help="Receipt of `podium pack` to check against.", metavar="FILE"),
]
HashOption = Annotated[str | None, typer.Option(help="Expected hash of the bundle.", metavar="HEX")]
IdentityOption = Annotated[
    list[Path] | None,
    typer.Option(help="File with an age or SSH secret key (repeatable).", metavar="FILE"),
]
IterationsOption = Annotated[
    int | None, typer.Option(help="PBKDF2 iterations, if not the default.", min=1, metavar="N")
]
MostBytes = Annotated[
    int | None, typer.Option(help="Maximum bytes unpacked; default 64 GiB.", min=1, metavar="N")
]
MostMembers = Annotated[
    int | None,
    typer.Option(help="Maximum files and folders; default 200000.", min=1, metavar="N"),
]
MostRatio = Annotated[
    float | None,
    typer.Option(help="Maximum bytes unpacked per byte read; default 250.", min=1, metavar="N"),
]


def unpack(
    archive: ArchiveArgument,
    output: OutputOption = None,
    verify: VerifyOption = None,
    sha256: HashOption = None,
    passphrase_file: PassphraseOption = None,
    identity: IdentityOption = None,
    iterations: IterationsOption = None,
    max_size: MostBytes = None,
    max_members: MostMembers = None,
    max_ratio: MostRatio = None,
    no_sync: NoSyncOption = False,
    quiet: QuietOption = False,
) -> None:
    """Unpack a bundle into a new folder, all or nothing, and verify it with its receipt.

    The hash files of the bundle are checked, too. Exit status: 0 unpacked, 1 the bundle is hostile,
    damaged, or does not match its hash or receipt, 2 bad arguments.
    """
    from podium.compliance.reporting.console import print_text

    receipt = _receipt(verify)
    if output is None:
        text = _verify_folder(archive, receipt)
    else:
        from podium.compliance.tools.bundling.unpack import UnpackOptions
        from podium.compliance.tools.bundling.unpack import unpack as unpack_bundle

        keys = _keys(passphrase_file, identity or [], iterations)
        limits = _limits(max_size, max_members, max_ratio)
        options = UnpackOptions(sha256, keys, limits, receipt, not no_sync)
        clear_leftovers(output)
        text = _text(output, unpack_bundle(archive, output, options))
    if not quiet:
        print_text(text)
        _suggest_next(archive if output is None else output, receipt)


def _suggest_next(folder: Path, receipt: Receipt | None) -> None:
    """Suggest the check of a tree in a folder, or of the folder, in the round of its receipt."""
    trees = [path for path in folder.iterdir() if (path / "results").is_dir()]
    rules = (
        () if receipt is None else ("--usage", receipt.rules.usage, "--round", receipt.rules.round)
    )
    suggest("check", trees[0] if len(trees) == 1 else folder, *rules)


def _receipt(path: Path | None) -> Receipt | None:
    if path is None:
        return None
    from podium.compliance.tools.packing.receipt import read_receipt

    return read_receipt(path)


def _verify_folder(tree: Path, receipt: Receipt | None) -> str:
    """Verify an unpacked tree with its receipt."""
    from podium.compliance.text.terminal import clean
    from podium.compliance.tools.bundling.verify import check_against

    if not tree.is_dir():
        raise UsageFault("give --output, the new folder to unpack into")
    if receipt is None:
        raise UsageFault(f"{tree} is a folder: give --verify with the receipt to check it against")
    check_against(receipt, tree)
    return f"{clean(str(tree))}: all {len(receipt.files)} files match the receipt\n"


def _keys(passphrase_file: Path | None, identities: list[Path], iterations: int | None) -> Keys:
    from podium.compliance.tools.bundling.encryption.keys import Keys
    from podium.compliance.tools.bundling.encryption.openssl import MOST_ITERATIONS

    if iterations and iterations > MOST_ITERATIONS:
        raise UsageFault(f"--iterations must be from 1 to {MOST_ITERATIONS}")
    passphrase = read_passphrase(passphrase_file)
    ask = None if passphrase else _prompt()
    return Keys(passphrase, tuple(map(read_key, identities)), iterations, ask)


def _prompt() -> Callable[[], str] | None:
    """A prompt for the passphrase if standard input is a terminal."""
    if not sys.stdin.isatty():
        return None
    # Called only if the bundle needs a passphrase; on standard error, as output may be a file
    return lambda: str(typer.prompt("passphrase", hide_input=True, err=True))


def _limits(size: int | None, members: int | None, ratio: float | None) -> Limits:
    from podium.compliance.tools.bundling.format.members import Limits

    default = Limits()
    # `or` is safe: typer refuses a limit of 0 (min=1)
    return Limits(size or default.size, members or default.members, ratio or default.ratio)


def _text(output: Path, unpacked: Unpacked) -> str:
    from podium.compliance.text.terminal import clean

    if unpacked.unauthenticated:
        warn(
            "the format of the bundle is not authenticated, so it may have been altered; give "
            "--sha256 or --verify with a hash or a receipt from a separate channel"
        )
    # openssl without -pbkdf2 hashes the passphrase only once, so guesses are cheap
    if unpacked.old_derivation:
        warn("the bundle uses the old, weak key derivation; ask for a bundle encrypted with age")
    totals = f"{unpacked.files} files, {unpacked.size} bytes ({unpacked.encryption})"
    lines = [f"{clean(str(output))}: {totals}", *(f"  {line}" for line in unpacked.checked)]
    return "\n".join(lines) + "\n"
