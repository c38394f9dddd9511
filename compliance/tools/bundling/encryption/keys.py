"""What encrypts and decrypts archives, and what an archive is once decrypted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from podium.compliance.errors import UsageFault
from podium.compliance.tools.bundling.format.compress import Compression, Source


class Cipher(StrEnum):
    """How an archive is encrypted."""

    AGE = "age"
    OPENSSL = "openssl"
    LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Keys:
    """What decrypts archives: a passphrase, age identities, unusual iterations of PBKDF2.

    `ask` returns the passphrase when one is needed and none was given.
    """

    passphrase: str | None = None
    identities: tuple[str, ...] = ()
    iterations: int | None = None
    ask: Callable[[], str] | None = None

    def secret(self) -> str:
        """The passphrase; raises UsageFault where there is none."""
        if self.passphrase is None and self.ask is not None:
            return self.ask()
        if not self.passphrase:
            raise UsageFault("the archive is encrypted with a passphrase: give --passphrase-file")
        return self.passphrase


@dataclass(frozen=True, slots=True)
class Decrypted:
    """An archive's plain stream; `old` where its key was derived in the old, weak way.

    `authenticated` is False where it is encrypted in a format that notices no change.
    """

    source: Source
    compression: Compression
    how: str
    old: bool = False
    authenticated: bool = True
    encrypted: bool = True
