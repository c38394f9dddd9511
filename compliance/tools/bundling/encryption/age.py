"""The format of age, by its library: for recipients in pieces, by a passphrase in one."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, Any

from podium.compliance.errors import UsageFault
from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.bundling.encryption.keys import Keys
from podium.compliance.tools.bundling.format.archive import Writer
from podium.compliance.tools.bundling.format.refusal import Refused

AGE = b"age-encryption.org/v1\n"
"""The first bytes of such a file."""

LARGEST_IN_MEMORY = 1 << 30
"""Bytes of an archive encrypted with a passphrase: the library takes it in one piece."""

HARDEST_SCRYPT = 20
"""Logarithm of the work that the stanza of a passphrase may ask for: 1 GiB of memory. age writes
18."""

LONGEST_HEADER = 1 << 16
"""Bytes of the header, some 650 recipients: the library takes time by its square."""


def encrypt_age(plain: IO[bytes], out: Writer, recipients: tuple[str, ...], secret: str) -> None:
    """Encrypt a stream for recipients, or with a passphrase where there are none."""
    age = needed("pyrage", "age encryption", "bundle")
    if recipients:
        age.encrypt_io(plain, out, [_recipient(age, text) for text in recipients])
        return
    # One byte more than allowed shows that there are more, without reading all
    data = plain.read(LARGEST_IN_MEMORY + 1)
    if len(data) > LARGEST_IN_MEMORY:
        size = f"more than {LARGEST_IN_MEMORY >> 30} GiB"
        raise UsageFault(
            f"the archive has {size}, too much for a passphrase of age; use --recipient, or "
            "--cipher openssl"
        )
    out.write(age.passphrase.encrypt(data, secret))


def _recipient(age: Any, text: str) -> Any:
    # Not told: somebody has taken the wrong one of two keys, and messages end in logs
    if "SECRET" in text.upper() or "PRIVATE KEY" in text.upper():
        raise UsageFault("--recipient is a secret key; give the public one (age1... or ssh-...)")
    kind = age.ssh if text.startswith("ssh-") else age.x25519
    try:
        return kind.Recipient.from_str(text.strip())
    except Exception:  # the library's errors share no base of their own
        raise UsageFault(
            f"{text.strip()[:80]} is not a recipient of age (age1... or ssh-...)"
        ) from None


def decrypt_age(stream: IO[bytes], plain: IO[bytes], display_path: str, keys: Keys) -> None:
    """Decrypt a stream into `plain`; raises Refused for a wrong key and for damage."""
    age = needed("pyrage", "age encryption", "bundle")
    header = _header(stream, display_path)
    work = _scrypt_work(header)
    if work is None:
        if not keys.identities:
            raise UsageFault("the archive is encrypted for recipients of age: give --identity")
        identities = [_identity(age, text) for text in keys.identities]
        _guarded(lambda: age.decrypt_io(stream, plain, identities), display_path)
        return
    # The archive itself states this cost, so it is looked at before the library pays it
    if work > HARDEST_SCRYPT:
        raise Refused(
            f"{display_path}: decrypting it would take 2^{work} rounds of scrypt, more than "
            f"2^{HARDEST_SCRYPT}"
        )
    data = stream.read(LARGEST_IN_MEMORY + 1)
    if len(data) > LARGEST_IN_MEMORY:
        raise Refused(f"{display_path}: is too large for a passphrase of age")
    secret = keys.secret()
    _guarded(lambda: plain.write(age.passphrase.decrypt(data, secret)), display_path)


def _header(stream: IO[bytes], display_path: str) -> bytes:
    """The header of a file of age; raises Refused where it is too long to be looked at."""
    head = stream.read(LONGEST_HEADER)
    stream.seek(0)
    end = head.find(b"\n---")
    if end < 0 and len(head) == LONGEST_HEADER:
        raise Refused(f"{display_path}: the header of age has more than {LONGEST_HEADER} bytes")
    return head[:end] if end >= 0 else head


def _scrypt_work(header: bytes) -> int | None:
    """What the stanza of a passphrase asks for, as a logarithm; None where there is none."""
    first = header[len(AGE) :].split(b"\n", 1)[0].split(b" ")
    if first[:2] != [b"->", b"scrypt"]:
        return None
    return int(first[3]) if len(first) > 3 and first[3].isdigit() and len(first[3]) < 4 else 999


def _identity(age: Any, text: str) -> Any:
    """An identity from an age or SSH key's text; its file may have comments."""
    try:
        if "PRIVATE KEY-----" in text:
            return age.ssh.Identity.from_buffer(text.encode())
        lines = [line.strip() for line in text.splitlines()]
        return age.x25519.Identity.from_str(next(n for n in lines if n.startswith("AGE-SECRET")))
    except Exception:  # the library's errors share no base of their own
        raise UsageFault("--identity must be a file with a secret key of age or SSH") from None


def _guarded(work: Callable[[], object], display_path: str) -> None:
    """Run the library: for damaged data it raises OSError, for a wrong key its own errors."""
    try:
        work()
    except OSError as error:
        # With a number it comes from the disk (no space left), not from the archive
        if error.errno:
            raise
        raise Refused(f"{display_path}: the encrypted data is damaged or cut short") from None
    except Exception:  # the library's errors share no base of their own
        raise Refused(f"{display_path}: the key or passphrase does not decrypt it") from None
