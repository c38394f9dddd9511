"""Decrypt archives; the first bytes determine the format."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from podium.compliance.tools.bundling.encryption.age import AGE, decrypt_age
from podium.compliance.tools.bundling.encryption.keys import Decrypted, Keys
from podium.compliance.tools.bundling.encryption.openssl import SALTED, decrypt_salted
from podium.compliance.tools.bundling.format.compress import HEAD, compression_of
from podium.compliance.tools.bundling.format.refusal import Refused


@contextmanager
def decrypted(stream: IO[bytes], display_path: str, keys: Keys, room: Path) -> Iterator[Decrypted]:
    """The stream of an archive, decrypted if necessary; temporary files are in `room`.

    Raises Refused for a wrong key, or if the file is not an archive.
    """
    head = stream.read(HEAD)
    stream.seek(0)
    compression = compression_of(head)
    if compression is not None:
        yield Decrypted(stream, compression, "not encrypted", encrypted=False)
    elif head.startswith(SALTED):
        yield decrypt_salted(stream, display_path, keys)
    elif head.startswith(AGE):
        with tempfile.TemporaryFile(dir=room) as plain:
            decrypt_age(stream, plain, display_path, keys)
            yield _recognised(plain, display_path, "age")
    else:
        raise Refused(
            f"{display_path}: is not a supported archive; expected tar.zst, tar.gz, tar, age or enc"
        )


def _recognised(plain: IO[bytes], display_path: str, encryption: str) -> Decrypted:
    plain.seek(0)
    compression = compression_of(plain.read(HEAD))
    plain.seek(0)
    if compression is None:
        raise Refused(f"{display_path}: the decrypted file is not a supported archive")
    return Decrypted(plain, compression, encryption)
