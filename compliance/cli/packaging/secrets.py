"""Passphrases and keys of `podium bundle` and `podium unpack`, read from files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from podium.compliance.errors import UsageFault
from podium.compliance.files.given import read_given

LARGEST_KEY = 1 << 16
"""Maximum bytes of a file with a key or a passphrase."""

PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file", help="File whose first line is the passphrase.", metavar="FILE"
    ),
]


def read_passphrase(path: Path | None) -> str | None:
    """The first line of a file, as `openssl -pass file:` reads it; None without a file."""
    if path is None:
        return None
    # A file written on Windows ends its lines with CR LF; the CR is not part of the passphrase
    passphrase = read_key(path).split("\n", 1)[0].removesuffix("\r")
    if not passphrase:
        raise UsageFault(f"no passphrase in the first line of {path}")
    return passphrase


def read_key(path: Path) -> str:
    """The text of a key file; raises UsageFault."""
    try:
        # Bounded: a wrong path may name a checkpoint or an endless device
        return read_given(path, LARGEST_KEY).decode("utf-8")
    except OSError as error:
        raise UsageFault(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageFault(f"{path} is not UTF-8 text") from None
