"""The OpenSSL format of encrypted files, with PBKDF2 and with the derivation of the old script.

`Salted__`, eight bytes of salt, AES-256-CBC with PKCS#7 padding. Key and initial vector come from
PBKDF2 with HMAC-SHA-256, or, in the old script, from one round of SHA-256 over passphrase
and salt (MD5 before OpenSSL 1.1). The format itself does not detect a changed byte: the hash file
next to the archive does.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from podium.compliance.files.optional_imports import needed
from podium.compliance.tools.bundling.encryption.keys import Decrypted, Keys
from podium.compliance.tools.bundling.format.archive import CHUNK, Writer
from podium.compliance.tools.bundling.format.compress import HEAD, compression_of
from podium.compliance.tools.bundling.format.refusal import Damaged, Refused

ITERATIONS = 600_000
"""PBKDF2 iterations for encryption."""

OPENSSL_ITERATIONS = 10_000
"""The default of `openssl enc -pbkdf2`."""

MOST_ITERATIONS = 10_000_000

SALTED = b"Salted__"
"""The first bytes of an OpenSSL file."""

_KEY, _VECTOR, _BLOCK = 32, 16, 16


class Encrypting(io.RawIOBase):
    """A writer that encrypts in the OpenSSL format."""

    def __init__(self, out: Writer, secret: str, iterations: int | None) -> None:
        """Start with a new salt; `iterations` is None for the derivation of the old script."""
        salt = os.urandom(8)
        scheme = _Scheme("", iterations, "sha256")
        self._encryptor = _cipher(scheme.derive(secret, salt)).encryptor()
        self._out, self._held = out, 0
        out.write(SALTED + salt)

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        size = len(data)
        self._held = (self._held + size) % _BLOCK
        self._out.write(self._encryptor.update(data))
        return size

    def finish(self) -> None:
        """Write the padding and the last block."""
        # PKCS#7: a full block if no padding is needed, so that the last byte is always a length
        pad = _BLOCK - self._held
        self._out.write(self._encryptor.update(bytes([pad]) * pad) + self._encryptor.finalize())


@dataclass(frozen=True, slots=True)
class _Scheme:
    """One derivation of key and vector; `iterations` is None without PBKDF2."""

    title: str
    iterations: int | None
    digest: str

    def derive(self, secret: str, salt: bytes) -> bytes:
        """Key and vector, one after the other."""
        phrase, size = secret.encode("utf-8", "surrogateescape"), _KEY + _VECTOR
        if self.iterations is not None:
            return hashlib.pbkdf2_hmac(self.digest, phrase, salt, self.iterations, size)
        # OpenSSL's EVP_BytesToKey with one round: each digest includes the previous one
        derived = last = b""
        while len(derived) < size:
            last = hashlib.new(self.digest, last + phrase + salt, usedforsecurity=False).digest()
            derived += last
        return derived[:size]


def _schemes(iterations: int | None) -> Iterator[_Scheme]:
    """All possible key derivations, the safest first."""
    for count in dict.fromkeys((iterations or ITERATIONS, ITERATIONS, OPENSSL_ITERATIONS)):
        yield _Scheme(f"openssl, PBKDF2 with {count} iterations", count, "sha256")
    yield _Scheme("openssl, old key derivation", None, "sha256")
    yield _Scheme("openssl, oldest key derivation", None, "md5")


def _cipher(derived: bytes) -> Any:
    home = "cryptography.hazmat.primitives.ciphers"
    names = (home, f"{home}.algorithms", f"{home}.modes")
    ciphers, algorithms, modes = (needed(name, "the openssl format", "bundle") for name in names)
    return ciphers.Cipher(algorithms.AES(derived[:_KEY]), modes.CBC(derived[_KEY:]))


def decrypt_salted(stream: IO[bytes], display_path: str, keys: Keys) -> Decrypted:
    """Try every derivation on the first blocks: the first bytes identify an archive."""
    secret = keys.secret()
    prefix = len(SALTED) + 8
    head = stream.read(prefix + HEAD)
    salt, first = head[len(SALTED) : prefix], head[prefix:]
    first = first[: len(first) - len(first) % _BLOCK]
    for scheme in _schemes(keys.iterations):
        derived = scheme.derive(secret, salt)
        # The format has no check value: only the decrypted data shows a wrong key
        compression = compression_of(_cipher(derived).decryptor().update(first))
        if compression is not None:
            stream.seek(prefix)
            # A new decryptor, because CBC chains blocks and the first one has processed some
            source = _Decrypting(stream, _cipher(derived).decryptor())
            old = scheme.iterations is None
            return Decrypted(source, compression, scheme.title, old, authenticated=False)
    raise Refused(f"{display_path}: the passphrase does not decrypt it")


class _Decrypting:
    """A reader that decrypts blocks and removes the padding of the last block."""

    def __init__(self, stream: IO[bytes], decryptor: Any) -> None:
        self._stream, self._decryptor = stream, decryptor
        self._ready, self._last, self._ended = b"", b"", False

    def read(self, size: int, /) -> bytes:
        while not self._ready and not self._ended:
            self._fill()
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def _fill(self) -> None:
        """Read more data; keeps one block back, which may be the last and end with padding."""
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
            raise Damaged("the encrypted data is truncated") from None
        pad = self._last[-1] if len(self._last) == _BLOCK else 0
        if not 1 <= pad <= _BLOCK or self._last[-pad:] != bytes([pad]) * pad:
            raise Damaged("the encrypted data is damaged or truncated")
        self._ready = self._last[:-pad]
