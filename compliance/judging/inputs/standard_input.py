"""A log or a description from standard input, which is copied to a file and checked."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

import msgspec

from podium.compliance.errors import NothingToJudge

GIVEN = Path("-")
"""The PATH for standard input."""

_LOOKED_AT = 1 << 16
"""Bytes at the beginning that distinguish a description (an object without log tokens) from a log.
"""


class Spool(msgspec.Struct, frozen=True):
    """The file with the input; `description`: it looks like a system description."""

    path: str
    description: bool


def spool() -> Spool:
    """Copy standard input to a temporary file, which is removed when the process ends.

    A file, not memory: logs are read in pieces, compressed or not, and more than once. The file has
    no name if the system can reopen such a file, so that it disappears even if the process is
    killed. Raises NothingToJudge if the input cannot be read or copied.
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
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return Spool(path, start.startswith(b"{") and b":::ML" not in head)


_kept = ExitStack()
"""Keeps the files until the process ends."""


def _temporary() -> tuple[IO[bytes], str]:
    """A file to write to, and the path with which every process of this machine can reopen it."""
    import atexit
    import tempfile

    # Without a name if the file system allows it: the file disappears with its last descriptor
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
