"""A log or a description that comes by standard input: kept in a file, and judged as one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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

    A file, and not memory: logs are read in pieces, compressed or not, and more than once. Raises
    NothingToJudge where nothing can be read or kept.
    """
    # Only a call with `-` needs these
    import atexit
    import shutil
    import signal
    import tempfile
    from contextlib import suppress

    made: list[str] = []

    def remove() -> None:
        for path in made:
            with suppress(OSError):
                os.unlink(path)

    def end(number: int, _: object) -> None:
        remove()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    # A time limit or a cancelled job ends the process by a signal, without its last steps
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is signal.SIG_DFL:
            with suppress(ValueError):  # in another thread than the main one
                signal.signal(number, end)
    try:
        handle, path = tempfile.mkstemp(prefix="podium.", suffix=".stdin")
        made.append(path)
        atexit.register(remove)
        with os.fdopen(handle, "w+b") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
            stream.seek(0)
            head = stream.read(_LOOKED_AT)
    except OSError as error:
        raise NothingToJudge(f"standard input cannot be read: {error.strerror}") from None
    plain = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return Spool(path, plain.startswith(b"{") and b":::ML" not in head)
