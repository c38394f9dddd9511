"""Archives decrypted in whichever format they are encrypted: the first bytes show it."""

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
    """An archive's stream, decrypted if need be; temporary files go into `room`.

    Raises Refused for a wrong key and for what is not an archive.
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
            f"{display_path}: is not an archive that podium reads (tar.zst, tar.gz, tar, age, enc)"
        )


def _recognised(plain: IO[bytes], display_path: str, how: str) -> Decrypted:
    plain.seek(0)
    compression = compression_of(plain.read(HEAD))
    plain.seek(0)
    if compression is None:
        raise Refused(f"{display_path}: decrypted, it is not an archive that podium reads")
    return Decrypted(plain, compression, how)
