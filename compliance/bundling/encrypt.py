"""Closed archives: age, what `openssl enc` writes and reads, and the old script's own way.

OpenSSL's format is `Salted__`, eight bytes of salt, AES-256-CBC with PKCS#7 padding. Key and
initial vector come from PBKDF2 with HMAC-SHA-256, or, as the old script left it, from one round of
SHA-256 over passphrase and salt (MD5 before OpenSSL 1.1). It does not notice a changed byte by
itself: the hash beside the archive does. age does.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from compliance.bundling.archive import CHUNK, Writer
from compliance.bundling.compress import HEAD, Packing, Source, packing_of
from compliance.bundling.refusal import Damaged, Refused
from compliance.errors import UsageFault
from compliance.extras import needed

ITERATIONS = 600_000
"""Of PBKDF2, when closing."""

OPENSSL_ITERATIONS = 10_000
"""What `openssl enc -pbkdf2` takes when not told."""

MOST_ITERATIONS = 10_000_000

LARGEST_IN_MEMORY = 1 << 30
"""Bytes of an archive closed by age with a passphrase: the library takes it in one piece."""

HARDEST_SCRYPT = 22
"""Logarithm of the work that a passphrase stanza of age may ask for: 4 GiB of memory."""

_SALTED, _AGE = b"Salted__", b"age-encryption.org/v1\n"
_KEY, _VECTOR, _BLOCK = 32, 16, 16


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


# --- closing ---


def close_age(plain: IO[bytes], out: Writer, recipients: tuple[str, ...], secret: str) -> None:
    """Close a stream for recipients, or by a passphrase where there are none."""
    age = needed("pyrage", "age encryption", "bundle")
    if recipients:
        age.encrypt_io(plain, out, [_recipient(age, text) for text in recipients])
        return
    data = plain.read(LARGEST_IN_MEMORY + 1)
    if len(data) > LARGEST_IN_MEMORY:
        said = f"the archive has more than {LARGEST_IN_MEMORY >> 30} GiB, too much for a passphrase"
        raise UsageFault(f"{said} of age; use --recipient, or --cipher openssl")
    out.write(age.passphrase.encrypt(data, secret))


def _recipient(age: Any, text: str) -> Any:
    kind = age.ssh if text.startswith("ssh-") else age.x25519
    try:
        return kind.Recipient.from_str(text.strip())
    except Exception:  # the library's errors share no base of their own
        raise UsageFault(f"{text.strip()[:80]} is no recipient of age (age1… or ssh-…)") from None


class Encrypting(io.RawIOBase):
    """A writer that closes what passes in OpenSSL's format."""

    def __init__(self, out: Writer, secret: str, iterations: int | None) -> None:
        """Begin with a fresh salt; `iterations` is None for the old script's derivation."""
        salt = os.urandom(8)
        scheme = _Scheme("", iterations, "sha256")
        self._encryptor = _cipher(scheme.derive(secret, salt)).encryptor()
        self._out, self._held = out, 0
        out.write(_SALTED + salt)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        size = len(data)
        self._held = (self._held + size) % _BLOCK
        self._out.write(self._encryptor.update(data))
        return size

    def finish(self) -> None:
        """Write the padding and the last block."""
        pad = _BLOCK - self._held
        self._out.write(self._encryptor.update(bytes([pad]) * pad) + self._encryptor.finalize())


# --- opening ---


@contextmanager
def opened(stream: IO[bytes], shown: str, keys: Keys, room: Path) -> Iterator[Opened]:
    """An archive's stream, opened if it is closed; `room` is where temporary files may lie.

    Raises Refused for a wrong key and for what is no archive.
    """
    head = stream.read(HEAD)
    stream.seek(0)
    packing = packing_of(head)
    if packing is not None:
        yield Opened(stream, packing, "not encrypted")
    elif head.startswith(_SALTED):
        yield _open_salted(stream, shown, keys)
    elif head.startswith(_AGE):
        with tempfile.TemporaryFile(dir=room) as plain:
            _open_age(stream, plain, shown, keys)
            yield _seen(plain, shown, "age")
    else:
        raise Refused(f"{shown}: is no archive that podium reads (tar.zst, tar.gz, tar, age, enc)")


def _seen(plain: IO[bytes], shown: str, how: str) -> Opened:
    plain.seek(0)
    packing = packing_of(plain.read(HEAD))
    plain.seek(0)
    if packing is None:
        raise Refused(f"{shown}: opened, it is no archive that podium reads")
    return Opened(plain, packing, how)


def _open_age(stream: IO[bytes], plain: IO[bytes], shown: str, keys: Keys) -> None:
    age = needed("pyrage", "age encryption", "bundle")
    work = _scrypt_work(stream)
    if work is None:
        if not keys.identities:
            raise UsageFault("the archive is closed for recipients of age: give --identity")
        identities = [_identity(age, text) for text in keys.identities]
        _guarded(lambda: age.decrypt_io(stream, plain, identities), shown)
        return
    if work > HARDEST_SCRYPT:
        raise Refused(f"{shown}: opening it would take 2^{work} rounds of scrypt")
    data = stream.read(LARGEST_IN_MEMORY + 1)
    if len(data) > LARGEST_IN_MEMORY:
        raise Refused(f"{shown}: is too large for a passphrase of age")
    secret = keys.secret()
    _guarded(lambda: plain.write(age.passphrase.decrypt(data, secret)), shown)


def _scrypt_work(stream: IO[bytes]) -> int | None:
    """What the stanza of a passphrase asks for, as a logarithm; None where there is none."""
    first = stream.read(len(_AGE) + 256)[len(_AGE) :].split(b"\n", 1)[0].split(b" ")
    stream.seek(0)
    if first[:2] != [b"->", b"scrypt"]:
        return None
    return int(first[3]) if len(first) > 3 and first[3].isdigit() and len(first[3]) < 4 else 999


def _identity(age: Any, text: str) -> Any:
    """An identity from an age or SSH key's text; its file may hold comments."""
    try:
        if "PRIVATE KEY-----" in text:
            return age.ssh.Identity.from_buffer(text.encode())
        lines = [line.strip() for line in text.splitlines()]
        return age.x25519.Identity.from_str(next(n for n in lines if n.startswith("AGE-SECRET")))
    except Exception:  # the library's errors share no base of their own
        raise UsageFault("--identity must be a file with a secret key of age or SSH") from None


def _guarded(work: Callable[[], object], shown: str) -> None:
    """Run the library: for damaged data it raises OSError, for a wrong key its own errors."""
    try:
        work()
    except OSError as error:
        if error.errno:
            raise
        raise Refused(f"{shown}: the encrypted data is damaged or cut short") from None
    except Exception:  # the library's errors share no base of their own
        raise Refused(f"{shown}: the key or passphrase does not open it") from None


# --- OpenSSL's format ---


@dataclass(frozen=True, slots=True)
class _Scheme:
    """One way to a key and a vector; `iterations` is None without PBKDF2."""

    title: str
    iterations: int | None
    digest: str

    def derive(self, secret: str, salt: bytes) -> bytes:
        """Key and vector, one after the other."""
        phrase, size = secret.encode("utf-8", "surrogateescape"), _KEY + _VECTOR
        if self.iterations is not None:
            return hashlib.pbkdf2_hmac(self.digest, phrase, salt, self.iterations, size)
        made = last = b""
        while len(made) < size:
            last = hashlib.new(self.digest, last + phrase + salt, usedforsecurity=False).digest()
            made += last
        return made[:size]


def _schemes(iterations: int | None) -> Iterator[_Scheme]:
    """Every way in which such an archive may have been closed, the safest first."""
    for count in dict.fromkeys((iterations or ITERATIONS, ITERATIONS, OPENSSL_ITERATIONS)):
        yield _Scheme(f"openssl, PBKDF2 with {count} iterations", count, "sha256")
    yield _Scheme("openssl, old key derivation", None, "sha256")
    yield _Scheme("openssl, oldest key derivation", None, "md5")


def _cipher(derived: bytes) -> Any:
    home = "cryptography.hazmat.primitives.ciphers"
    names = (home, f"{home}.algorithms", f"{home}.modes")
    ciphers, algorithms, modes = (needed(name, "the openssl format", "bundle") for name in names)
    return ciphers.Cipher(algorithms.AES(derived[:_KEY]), modes.CBC(derived[_KEY:]))


def _open_salted(stream: IO[bytes], shown: str, keys: Keys) -> Opened:
    """Try every derivation on the first blocks: an archive shows itself by its first bytes."""
    secret = keys.secret()
    prefix = len(_SALTED) + 8
    head = stream.read(prefix + HEAD)
    salt, first = head[len(_SALTED) : prefix], head[prefix:]
    first = first[: len(first) - len(first) % _BLOCK]
    for scheme in _schemes(keys.iterations):
        derived = scheme.derive(secret, salt)
        packing = packing_of(_cipher(derived).decryptor().update(first))
        if packing is not None:
            stream.seek(prefix)
            source = _Decrypting(stream, _cipher(derived).decryptor())
            return Opened(source, packing, scheme.title, scheme.iterations is None)
    raise Refused(f"{shown}: the passphrase does not open it")


class _Decrypting:
    """A reader that opens blocks and takes the padding off the last."""

    def __init__(self, stream: IO[bytes], decryptor: Any) -> None:
        self._stream, self._decryptor = stream, decryptor
        self._ready, self._last, self._ended = b"", b"", False

    def read(self, size: int, /) -> bytes:
        while not self._ready and not self._ended:
            self._fill()
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _fill(self) -> None:
        """One block is held back: it may be the last, which ends in its padding."""
        data = self._stream.read(CHUNK)
        if data:
            data = self._last + self._decryptor.update(data)
            cut = max(len(data) - _BLOCK, 0)
            self._ready, self._last = data[:cut], data[cut:]
            return
        self._ended = True
        try:
            self._decryptor.finalize()
        except ValueError:
            raise Damaged("the encrypted data is cut short") from None
        pad = self._last[-1] if len(self._last) == _BLOCK else 0
        if not 1 <= pad <= _BLOCK or self._last[-pad:] != bytes([pad]) * pad:
            raise Damaged("the encrypted data is damaged or cut short")
        self._ready = self._last[:-pad]
