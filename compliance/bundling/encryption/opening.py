"""Archives opened, whichever way they were closed: the first bytes tell."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from podium.compliance.bundling.encryption.age import AGE, open_age
from podium.compliance.bundling.encryption.keys import Keys, Opened
from podium.compliance.bundling.encryption.openssl import SALTED, open_salted
from podium.compliance.bundling.format.compress import HEAD, packing_of
from podium.compliance.bundling.format.refusal import Refused


@contextmanager
def opened(stream: IO[bytes], display_path: str, keys: Keys, room: Path) -> Iterator[Opened]:
    """An archive's stream, opened if it is closed; `room` is where temporary files may lie.

    Raises Refused for a wrong key and for what is no archive.
    """
    head = stream.read(HEAD)
    stream.seek(0)
    packing = packing_of(head)
    if packing is not None:
        yield Opened(stream, packing, "not encrypted")
    elif head.startswith(SALTED):
        yield open_salted(stream, display_path, keys)
    elif head.startswith(AGE):
        with tempfile.TemporaryFile(dir=room) as plain:
            open_age(stream, plain, display_path, keys)
            yield _seen(plain, display_path, "age")
    else:
        raise Refused(
            f"{display_path}: is no archive that podium reads (tar.zst, tar.gz, tar, age, enc)"
        )


def _seen(plain: IO[bytes], display_path: str, how: str) -> Opened:
    plain.seek(0)
    packing = packing_of(plain.read(HEAD))
    plain.seek(0)
    if packing is None:
        raise Refused(f"{display_path}: opened, it is no archive that podium reads")
    return Opened(plain, packing, how)
