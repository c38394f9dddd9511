"""The age format, through its library: streamed for recipients, in memory for a passphrase."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO, Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.bundling.encryption.keys import Keys
from podium.compliance.tools.bundling.format.archive import Writer
from podium.compliance.tools.bundling.format.refusal import Refused

AGE = b"age-encryption.org/v1\n"
"""The first bytes of an age file."""

LARGEST_IN_MEMORY = 1 << 30
"""The largest archive with a passphrase, in bytes: the library reads it into memory."""

HARDEST_SCRYPT = 20
"""The largest scrypt work factor, as a binary logarithm: 1 GiB of memory. age itself writes 18."""

ATTEMPTS = 30
"""Calls of the library with a passphrase. Each call limits the work of scrypt by a measurement of a
few milliseconds, so a busy machine refuses archives that it can decrypt.
"""

LONGEST_HEADER = 1 << 16
"""The longest header in bytes, about 650 recipients: the library needs quadratic time."""


def encrypt_age(plain: IO[bytes], out: Writer, recipients: tuple[str, ...], secret: str) -> None:
    """Encrypt a stream for recipients, or with a passphrase if `recipients` is empty."""
    age = needed("pyrage", "age encryption", "bundle")
    if recipients:
        age.encrypt_io(plain, out, [_recipient(age, text) for text in recipients])
        return
    # Reads at most one byte over the limit
    data = plain.read(LARGEST_IN_MEMORY + 1)
    if len(data) > LARGEST_IN_MEMORY:
        size = f"more than {LARGEST_IN_MEMORY >> 30} GiB"
        raise UsageFault(
            f"the archive is {size}, too large for age with a passphrase; use --recipient or "
            "--cipher openssl"
        )
    out.write(age.passphrase.encrypt(data, secret))


def _recipient(age: Any, text: str) -> Any:
    # Do not print the key: it is probably the secret key of a pair, and messages end up in logs
    if "SECRET" in text.upper() or "PRIVATE KEY" in text.upper():
        raise UsageFault("--recipient is a secret key; expected a public key (age1... or ssh-...)")
    kind = age.ssh if text.startswith("ssh-") else age.x25519
    try:
        return kind.Recipient.from_str(text.strip())
    except Exception:  # the errors of the library share no base class
        raise UsageFault(
            f"{text.strip()[:80]} is not an age recipient; expected age1... or ssh-..."
        ) from None


def decrypt_age(stream: IO[bytes], plain: IO[bytes], display_path: str, keys: Keys) -> None:
    """Decrypt a stream into `plain`; raises Refused for a wrong key or damaged data."""
    age = needed("pyrage", "age encryption", "bundle")
    header = _header(stream, display_path)
    work = _scrypt_work(header)
    if work is None:
        if not keys.identities:
            raise UsageFault("the archive is encrypted for age recipients; pass --identity")
        identities = [_identity(age, text) for text in keys.identities]
        _guarded(lambda: age.decrypt_io(stream, plain, identities), display_path)
        return
    # The untrusted archive states this cost, so it is checked before the library runs
    if work > HARDEST_SCRYPT:
        raise Refused(
            f"{display_path}: decryption needs 2^{work} rounds of scrypt; the limit is "
            f"2^{HARDEST_SCRYPT}"
        )
    data = stream.read(LARGEST_IN_MEMORY + 1)
    if len(data) > LARGEST_IN_MEMORY:
        raise Refused(f"{display_path}: is too large for age with a passphrase")
    secret = keys.secret()
    for _ in range(ATTEMPTS):
        try:
            _guarded(lambda: plain.write(age.passphrase.decrypt(data, secret)), display_path)
        except _TooMuchWork:
            time.sleep(0.05)
        else:
            return
    raise Refused(
        f"{display_path}: this machine is too busy or too slow for 2^{work} rounds of scrypt; try "
        "again, or unpack on a faster machine"
    )


def _header(stream: IO[bytes], display_path: str) -> bytes:
    """The header of an age file; raises Refused if it is too long."""
    head = stream.read(LONGEST_HEADER)
    stream.seek(0)
    end = head.find(b"\n---")
    if end < 0 and len(head) == LONGEST_HEADER:
        raise Refused(f"{display_path}: the age header is larger than {LONGEST_HEADER} bytes")
    return head[:end] if end >= 0 else head


def _scrypt_work(header: bytes) -> int | None:
    """The scrypt work factor of a passphrase, as a logarithm; None for other recipients."""
    first = header[len(AGE) :].split(b"\n", 1)[0].split(b" ")
    if first[:2] != [b"->", b"scrypt"]:
        return None
    return int(first[3]) if len(first) > 3 and first[3].isdigit() and len(first[3]) < 4 else 999


def _identity(age: Any, text: str) -> Any:
    """An identity from the text of an age or SSH key, which may have comments."""
    try:
        if "PRIVATE KEY-----" in text:
            return age.ssh.Identity.from_buffer(text.encode())
        lines = [line.strip() for line in text.splitlines()]
        return age.x25519.Identity.from_str(next(n for n in lines if n.startswith("AGE-SECRET")))
    except Exception:  # the errors of the library share no base class
        raise UsageFault("--identity must be a file with a secret age or SSH key") from None


class _TooMuchWork(Exception):
    """The library expects that scrypt takes too long."""


def _guarded(work: Callable[[], object], display_path: str) -> None:
    """Run the library, which raises OSError for damaged data and other errors for a wrong key."""
    try:
        work()
    except OSError as error:
        # An error with a number comes from the disk (no space left), not from the archive
        if error.errno:
            raise
        raise Refused(f"{display_path}: the encrypted data is damaged or truncated") from None
    except Exception as error:  # the errors of the library share no base class
        if "Excessive work" in str(error):
            raise _TooMuchWork from None
        raise Refused(f"{display_path}: the key or passphrase does not decrypt it") from None
