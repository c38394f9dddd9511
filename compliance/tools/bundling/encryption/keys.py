"""Ciphers, keys, and decrypted archives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from podium.compliance.errors import UsageFault
from podium.compliance.tools.bundling.format.compress import Compression, Source


class Cipher(StrEnum):
    """The encryption of an archive."""

    AGE = "age"
    OPENSSL = "openssl"
    LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys for decryption: a passphrase, age identities, a number of iterations for PBKDF2.

    `ask` returns the passphrase if one is needed and `passphrase` is None.
    """

    passphrase: str | None = None
    identities: tuple[str, ...] = ()
    iterations: int | None = None
    ask: Callable[[], str] | None = None

    def secret(self) -> str:
        """The passphrase; raises UsageFault if there is none."""
        if self.passphrase is None and self.ask is not None:
            return self.ask()
        if not self.passphrase:
            raise UsageFault("the archive is encrypted with a passphrase; pass --passphrase-file")
        return self.passphrase


@dataclass(frozen=True, slots=True)
class Decrypted:
    """The plain stream of an archive; `old` if its key was derived in the old, weak way.

    `authenticated` is False if the encryption does not detect changes.
    """

    source: Source
    compression: Compression
    how: str
    old: bool = False
    authenticated: bool = True
    encrypted: bool = True
