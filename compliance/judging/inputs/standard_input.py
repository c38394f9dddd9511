"""A log or a description that comes by standard input: kept in a file, and judged as one."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

import msgspec

from podium.compliance.errors import NothingToJudge

GIVEN = Path("-")
"""The PATH that stands for standard input."""

_LOOKED_AT = 1 << 16
"""Bytes at the beginning that tell a description from a log: an object, and no token of a log."""


class Spool(msgspec.Struct, frozen=True):
    """The file that holds what came; `description`: it looks like a system description."""

    path: str
    description: bool


def spool() -> Spool:
    """Keep what comes by standard input in a temporary file, which goes with the process.

    A file, and not memory: logs are read in pieces, compressed or not, and more than once. It has
    no name where the system can open such a file again, so that no kill leaves it. Raises
    NothingToJudge where nothing can be read or kept.
    """
    import shutil  # only a call with `-` needs it

    try:
        stream, path = _temporary()
        shutil.copyfileobj(sys.stdin.buffer, stream)
        stream.flush()
        stream.seek(0)
        head = stream.read(_LOOKED_AT)
    except OSError as error:
        raise NothingToJudge(f"standard input cannot be read: {error.strerror}") from None
    plain = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return Spool(path, plain.startswith(b"{") and b":::ML" not in head)


_kept = ExitStack()
"""What holds the files until the process ends."""


def _temporary() -> tuple[IO[bytes], str]:
    """A file to write to, and the path by which every process of this machine opens it again."""
    import atexit
    import tempfile

    # Without a name where the file system can make such a file: it goes with its last descriptor
    stream: IO[bytes] = _kept.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    path = f"/proc/{os.getpid()}/fd/{stream.fileno()}"
    if os.path.exists(path):
        return stream, path
    from podium.compliance.files.guard import guarded

    handle, path = tempfile.mkstemp(prefix="podium.", suffix=".stdin")
    atexit.register(_kept.close)
    _kept.callback(_remove, path)
    _kept.enter_context(guarded(Path(path)))
    return _kept.enter_context(os.fdopen(handle, "w+b")), path


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
