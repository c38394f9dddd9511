"""What closes and opens archives, and what an archive is once opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from podium.compliance.bundling.format.compress import Packing, Source
from podium.compliance.errors import UsageFault


class Cipher(StrEnum):
    """How an archive is closed."""

    AGE = "age"
    OPENSSL = "openssl"
    LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class Keys:
    """What opens archives: a passphrase, age identities, PBKDF2's iterations if they are unusual.

    `ask` gives the passphrase once one is needed and none was given.
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
            raise UsageFault("the archive is closed by a passphrase: give --passphrase-file")
        return self.passphrase


@dataclass(frozen=True, slots=True)
class Opened:
    """An archive's stream once opened; `old` says that its key was derived in the old way."""

    source: Source
    packing: Packing
    how: str
    old: bool = False
